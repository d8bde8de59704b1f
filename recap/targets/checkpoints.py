"""Where a model's files lie, whether all are there and fit the memory; a sentence where something is amiss."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import errors as hub_errors
from huggingface_hub.constants import is_offline_mode

from recap.errors import ModelError, NotEnoughMemoryError

_TEACHING_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "teaching_vlm"
TEACHING_MODELS = {"teaching-qwen": _TEACHING_FOLDER / "qwen", "teaching-llava": _TEACHING_FOLDER / "llava"}
_WEIGHT_FILES = ("model.safetensors", "pytorch_model.bin")
#: Cache, activations and the library itself come on top of the weights.
_OVERHEAD = 1.2


def find_source(model: str) -> str | Path:
    """A folder with a model in it, or a hub name that transformers may look up.

    Raises:
        ModelError: there is no such folder, or no model in it.
    """
    folder = TEACHING_MODELS.get(model, Path(model))
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelError(f"The folder {folder} holds no model: there is no config.json in it.")
        return folder
    if model in TEACHING_MODELS:
        raise ModelError(
            f"The model {model!r} should lie in {folder}, which does not exist; get the whole repository."
        )
    if model.count("/") != 1 or model.startswith((".", "/", "~")):
        raise ModelError(
            f"There is no folder {model!r}; give {', '.join(TEACHING_MODELS)}, a model's folder, or a hub name like "
            "owner/model."
        )
    return model


def check_weights(folder: Path) -> None:
    """Raise ModelError where a folder's weights, or some of their shards, are missing."""
    for name in _WEIGHT_FILES:
        index = folder / f"{name}.index.json"
        if index.is_file():
            shards = sorted(set(json.loads(index.read_text("utf-8"))["weight_map"].values()))
            missing = [shard for shard in shards if not (folder / shard).is_file()]
            if missing:
                raise ModelError(
                    f"The folder {folder} lacks {len(missing)} of {len(shards)} weight files, the first of them "
                    f"{missing[0]}; download the model again."
                )
            return
        if (folder / name).is_file():
            return
    raise ModelError(
        f"The folder {folder} holds no weights ({' or '.join(_WEIGHT_FILES)}, whole or in shards with an index); "
        "download the model again."
    )


def loading_problem(model: str, error: Exception) -> ModelError:
    """What went wrong with a hub name or a folder, in one sentence that says what to do."""
    kinds = tuple(type(cause) for cause in _causes(error))

    def is_any(*wanted: type[Exception]) -> bool:
        return any(issubclass(kind, wanted) for kind in kinds)

    if is_any(hub_errors.GatedRepoError):
        return ModelError(
            f"The model {model!r} asks for permission; accept its terms on huggingface.co/{model} and log in with "
            "`hf auth login`."
        )
    if is_any(hub_errors.RepositoryNotFoundError):
        return ModelError(
            f"There is no model {model!r} on the hub, or it is private; check the name, or log in with `hf auth login`."
        )
    if is_any(hub_errors.LocalEntryNotFoundError, hub_errors.OfflineModeIsEnabled, ConnectionError):
        if is_offline_mode():
            return ModelError(
                f"The model {model!r} is not on this machine and could not be loaded while the hub is switched off; "
                "unset HF_HUB_OFFLINE, or download it first."
            )
        return ModelError(
            f"The model {model!r} is not on this machine and could not be loaded from the hub, which cannot be "
            "reached; check the network, or give a folder."
        )
    if is_any(ImportError):
        return ModelError(
            f"The model {model!r} could not be loaded: it needs a package that is not installed "
            f"({_first_line(error)})."
        )
    if is_any(torch.OutOfMemoryError, MemoryError):
        return NotEnoughMemoryError(
            f"The memory was used up while the model {model!r} was loaded; free some, or choose a smaller model."
        )
    return ModelError(
        f"The model {model!r} could not be loaded ({_first_line(error)}); check the name, the folder's files and the "
        "network."
    )


def count_bytes(source: str | Path, config: Any, num_parameters: int, dtype: torch.dtype) -> int:
    """What the weights will take. Quantised ones take what their files take, which only a folder tells; else 0."""
    if getattr(config, "quantization_config", None) is None:
        return num_parameters * dtype.itemsize
    files = Path(source).glob("*.safetensors") if isinstance(source, Path) else ()
    return sum(file.stat().st_size for file in files)


def choose_placing(config: Any, num_bytes: int, device: str, fits_device: bool) -> dict[str, Any]:
    """Where `from_pretrained` is to put the weights; empty: into main memory, from where they are moved.

    They go to the GPU at once where main memory cannot hold them meanwhile, and where they are quantised, as these are
    often not to be moved later.
    """
    if not fits_device:
        return {"device_map": "auto"}
    is_quantized = getattr(config, "quantization_config", None) is not None
    if device != "cpu" and (is_quantized or num_bytes > available_memory()):
        return {"device_map": {"": device}}
    return {}


def check_memory(model: str, num_bytes: int, device: str, dtype: str, may_spread: bool = True) -> bool:
    """Whether weights of so many bytes fit the device as a whole; False: they fit GPU and main memory together.

    Raises:
        NotEnoughMemoryError: they fit nowhere, or would have to be spread and may not; told before minutes pass.
    """
    needed = num_bytes * _OVERHEAD
    main = available_memory()
    if device == "cpu":
        free = main
        fits_device = True
    else:
        free = main + sum(torch.cuda.mem_get_info(index)[0] for index in range(torch.cuda.device_count()))
        fits_device = needed <= torch.cuda.mem_get_info(device)[0]
    if not fits_device and not may_spread:
        raise NotEnoughMemoryError(
            f"The model {model!r} does not fit the GPU beside what is there; free it, and try again."
        )
    if needed > free:
        advice = "bfloat16 needs half of it, or " if dtype == "float32" else ""
        raise NotEnoughMemoryError(
            f"The model {model!r} needs about {needed / 1e9:.1f} GB in {dtype} and {free / 1e9:.1f} GB are free here; "
            f"{advice}choose a smaller model."
        )
    return fits_device


def available_memory() -> float:
    """Bytes of main memory that can be had, a container's limit respected; infinity where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
        available = next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return float("inf")
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text("utf-8").strip() if limit.is_file() else ""
    return min(available, float(text)) if text.isdecimal() else available


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _first_line(error: Exception) -> str:
    """The first line of a message; of one that goes on in mid-sentence, the sentences that are whole."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    goes_on = len(lines) > 1 and not lines[0].endswith((".", ":"))
    whole = lines[0].rpartition(". ")[0] if goes_on else ""
    return (whole or lines[0]).rstrip(".")
