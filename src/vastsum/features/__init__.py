"""Frames in, one vector a frame out: backbones on ONNX Runtime."""

from vastsum.features.backbone import Backbone
from vastsum.features.registry import BACKBONES, DEFAULT_BACKBONE, BackboneSpec, load_backbone

__all__ = ["BACKBONES", "DEFAULT_BACKBONE", "Backbone", "BackboneSpec", "load_backbone"]
