"""File to frames, and frames to file."""

from vastsum.video.cut import Written, write_summary
from vastsum.video.probing import VideoInfo, probe
from vastsum.video.remux import copy_suffix
from vastsum.video.sampling import Sample, Samples, sample
from vastsum.video.shots import Shots
from vastsum.video.source import limit_pixels, refuse_playlists
from vastsum.video.thumbnails import grab
from vastsum.video.timeline import Timeline, read_timeline

__all__ = [
    "Sample",
    "Samples",
    "Shots",
    "Timeline",
    "VideoInfo",
    "Written",
    "copy_suffix",
    "grab",
    "limit_pixels",
    "probe",
    "read_timeline",
    "refuse_playlists",
    "sample",
    "write_summary",
]
