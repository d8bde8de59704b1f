"""The two architectures of the teaching models, by name."""

from architectures.base import Architecture
from architectures.llava import LLAVA
from architectures.qwen import QWEN

ARCHITECTURES: dict[str, Architecture] = {architecture.name: architecture for architecture in (QWEN, LLAVA)}
