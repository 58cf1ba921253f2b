/* Light or dark: as the system has it, until a person chooses.

   <button data-theme-toggle> anywhere on the page switches. The choice stands in <html data-theme="light|dark"> and is
   kept in this browser. Load this script in <head>, before styles are shown, so that nothing flashes. */
"use strict";
(function () {
  const KEY = "vastsum.theme";
  const root = document.documentElement;
  const isDark = () =>
    (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

  try {
    const kept = localStorage.getItem(KEY);
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  } catch {
    /* Pages opened from disk may have no storage: then the choice lasts as long as the page. */
  }

  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-theme-toggle]")) return;
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem(KEY, root.dataset.theme);
    } catch {
      /* as above */
    }
  });
})();
