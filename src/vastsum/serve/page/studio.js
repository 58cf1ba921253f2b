/* The studio's page: which view is shown, dropping files anywhere, and the token where one is asked for. */
import { ApiError, call, get, live } from "/studio-api.js";
import { compareView } from "/studio-compare.js";
import { homeView, takeFiles } from "/studio-home.js";
import { jobView } from "/studio-job.js";
import { say } from "/studio-parts.js";
const { element } = globalThis.vastsum;

const view = document.getElementById("view");
const VIEWS = { "": homeView, job: jobView, compare: compareView };
let about = null;
let leave = () => {};
let turn = 0;

async function start() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    history.replaceState(null, "", location.pathname); // the token does not stay in sight
    await call("POST", "/session", { token: given }).catch(() => {});
  }
  try {
    about = await get("/about");
  } catch (error) {
    return error.status === 401 ? askForToken() : trouble(error);
  }
  await live.open();
  addEventListener("hashchange", show);
  setUpDropping();
  live.addEventListener("lost", () => {
    document.body.classList.add("lost");
    say("The studio does not answer.");
  });
  live.addEventListener("back", () => document.body.classList.remove("lost"));
  return show();
}

async function show() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  if (location.hash === "#view") return;
  const mine = ++turn;
  leave();
  leave = () => {};
  document.title = "VASTSum Studio";
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === `#/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const fresh = element("div", { className: `view of-${name || "home"}` });
  try {
    const close = await (VIEWS[name] ?? homeView)(fresh, about, ...rest);
    if (mine !== turn) return close();
    leave = close;
    view.replaceChildren(fresh);
  } catch (error) {
    if (mine === turn) trouble(error);
  }
  view.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function trouble(error) {
  const [problem, remedy] =
    error instanceof ApiError ? [error.problem, error.remedy] : [String(error), "reload the page"];
  view.replaceChildren(
    element(
      "section",
      { className: "card ended" },
      element("h1", {}, "This did not work"),
      element("p", {}, problem),
      element("p", { className: "quiet" }, remedy),
      element("a", { className: "button", href: "#/" }, "All videos"),
    ),
  );
}

function askForToken() {
  const field = element("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
  const wrong = element("p", { className: "bad", role: "alert" });
  const form = element(
    "form",
    { className: "card token" },
    element("h1", {}, "Token"),
    element("p", { className: "quiet" }, "This studio was started with a token. Whoever started it can tell you."),
    element("label", { htmlFor: "token" }, "Token"),
    field,
    wrong,
    element("button", { className: "main" }, "Open the studio"),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await call("POST", "/session", { token: field.value });
      location.reload();
    } catch (error) {
      wrong.textContent = error.problem;
      field.select();
    }
  });
  view.replaceChildren(form);
  field.focus();
}

function setUpDropping() {
  const veil = document.getElementById("veil");
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (hasFiles(event)) {
      event.preventDefault();
      veil.hidden = false;
    }
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) veil.hidden = true;
  });
  addEventListener("drop", (event) => {
    veil.hidden = true;
    if (!hasFiles(event)) return;
    event.preventDefault();
    if (location.hash.replace(/^#\/?$/, "")) location.hash = "#/";
    takeFiles([...event.dataTransfer.files], about);
  });
}

start();
