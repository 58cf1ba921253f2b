"""File to frames, and frames to file."""

from vastsum.video.probe import VideoInfo, probe
from vastsum.video.sample import Sample, Samples, sample
from vastsum.video.timeline import Timeline, read_timeline

__all__ = ["Sample", "Samples", "Timeline", "VideoInfo", "probe", "read_timeline", "sample"]
