"""File to spans of speech, and the pauses between words."""

from vastsum.sound.listening import find_speech
from vastsum.sound.speech import Speech

__all__ = ["Speech", "find_speech"]
