"""Videos become files here: one by `summarize_one`, many by a pool of workers on this machine or on a Ray cluster.

`one` does one video. Of many, `inputs` says which videos, `places` where results go, `work` does each once, `outcome`
remembers how it went. `pool` hands out work; `local` and `cluster` say who the workers are, and differ in nothing else.
"""
