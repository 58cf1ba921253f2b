"""The studio: a web application for one's own videos, and the queue of jobs behind it.

Nothing is imported here: a worker process needs none of the web parts, and `vastsum --help` neither.
"""
