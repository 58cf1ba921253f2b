"""The same work on many videos at once, by processes of this machine or by a Ray cluster.

`inputs` says which videos, `places` where results go, `work` does one video, `outcome` remembers how it went, `crew`
hands out the work and gives each video a second chance. `local` and `cluster` differ in who works, and in nothing else.
"""
