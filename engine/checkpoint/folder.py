"""A speech model on disk, checked from end to end before anything is allocated.

`Checkpoint.open` reads `config.json`, the headers of the safetensors shards and nothing else: a bad
download is refused within milliseconds and with all that is wrong with it in one message, instead
of after minutes of loading. Imports neither torch nor SGLang.

The layout is that of `fishaudio/s2-pro`: `config.json`, `model.safetensors.index.json` with its
shards (or one `model.safetensors`), `tokenizer.json` and `codec.pth`. Which shard holds which
tensor is read from the index and never assumed.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import msgspec

from engine.checkpoint.config_json import LanguageModelConfig, TransformerConfig, parse_config
from engine.checkpoint.safetensors_header import TensorInfo, read_header
from engine.errors import CheckpointError

CONFIG_FILE = "config.json"
INDEX_FILE = "model.safetensors.index.json"
SINGLE_FILE = "model.safetensors"
TOKENIZER_FILE = "tokenizer.json"
CODEC_FILE = "codec.pth"
WEIGHT_DTYPES = ("BF16", "F16", "F32")
# what is beside a quantised matrix: its scales, fp32 [out, 1]
SCALE_SUFFIX = ".scale"
QUANTISED_DTYPES = {"int8": "I8", "fp8": "F8_E4M3"}
_MATRICES = {"attention": ("wqkv", "wo"), "feed_forward": ("w1", "w2", "w3")}
_LISTED = 10  # problems spelled out in one message

Shape = tuple[int, ...]


def expected_tensors(config: LanguageModelConfig) -> dict[str, Shape]:
    """Every tensor of the language model: name -> shape; linear weights are [out, in].

    The text head is tied to `text_model.model.embeddings` and therefore absent. `project_in` exists
    only where the two transformers differ in width, scales only of quantised matrices.
    """
    slow, fast = config.text_config, config.audio_decoder_config
    shapes: dict[str, Shape] = {"text_model.model.embeddings.weight": (slow.vocab_size, slow.dim)}
    shapes |= _layers("text_model.model", slow)
    shapes["text_model.model.norm.weight"] = (slow.dim,)
    # Feeds the slow AR: row codebook * vocab_size + code.
    codes = fast.num_codebooks * fast.vocab_size
    shapes["audio_decoder.codebook_embeddings.weight"] = (codes, slow.dim)
    shapes["audio_decoder.embeddings.weight"] = (fast.vocab_size, fast.dim)
    if fast.dim != slow.dim:
        shapes["audio_decoder.project_in.weight"] = (fast.dim, slow.dim)
        shapes["audio_decoder.project_in.bias"] = (fast.dim,)
    shapes |= _layers("audio_decoder", fast)
    shapes["audio_decoder.norm.weight"] = (fast.dim,)
    shapes["audio_decoder.output.weight"] = (fast.vocab_size, fast.dim)
    for name in quantised_matrices(config):
        shapes[name + SCALE_SUFFIX] = (shapes[name][0], 1)
    return shapes


def quantised_matrices(config: LanguageModelConfig) -> dict[str, str]:
    """Name -> dtype, as safetensors spells it, of every matrix that is stored in 8 bits."""
    found = {}
    parts = (
        ("text_model.model", config.text_config),
        ("audio_decoder", config.audio_decoder_config),
    )
    for prefix, part in parts:
        for layer in range(part.n_layer):
            schemes = {
                "attention": part.attention_scheme(layer),
                "feed_forward": part.feed_forward_scheme(layer),
            }
            for piece, scheme in schemes.items():
                if scheme is not None:
                    for matrix in _MATRICES[piece]:
                        name = f"{prefix}.layers.{layer}.{piece}.{matrix}.weight"
                        found[name] = QUANTISED_DTYPES[scheme]
    return found


def _layers(prefix: str, part: TransformerConfig) -> dict[str, Shape]:
    layer: dict[str, Shape] = {
        "attention.wqkv": (part.qkv_dim, part.dim),
        "attention.wo": (part.dim, part.attention_dim),
        "attention_norm": (part.dim,),
        "ffn_norm": (part.dim,),
        "feed_forward.w1": (part.intermediate_size, part.dim),  # gate
        "feed_forward.w3": (part.intermediate_size, part.dim),  # up
        "feed_forward.w2": (part.dim, part.intermediate_size),  # down
    }
    if part.attention_qk_norm:
        layer |= {"attention.q_norm": (part.head_dim,), "attention.k_norm": (part.head_dim,)}
    return {
        f"{prefix}.layers.{index}.{name}.weight": shape
        for index in range(part.n_layer)
        for name, shape in layer.items()
    }


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checked directory. `tensors` tells where each of the language model's tensors lies."""

    path: Path
    config: LanguageModelConfig
    tensors: Mapping[str, TensorInfo] = field(repr=False)

    @classmethod
    def open(cls, path: str | Path) -> Checkpoint:
        """Check the directory at `path`. Raises CheckpointError saying all that was found wrong."""
        root = Path(path)
        if not root.is_dir():
            raise CheckpointError(f"expected a checkpoint directory, got {root} ({_kind(root)})")
        config_path = root / CONFIG_FILE
        config = parse_config(_read(config_path), str(config_path))
        _check_other_files(root, config)
        tensors, misplaced = _stored_tensors(root)
        problems = misplaced + _differences(config, tensors)
        if problems:
            raise CheckpointError(f"{root}: {_list(problems)}")
        return cls(root, config, MappingProxyType(tensors))

    @property
    def tokenizer_path(self) -> Path:
        """The tokenizer's definition, read by `engine.text.tokenizer`."""
        return self.path / TOKENIZER_FILE

    @property
    def shards(self) -> tuple[Path, ...]:
        """The safetensors files, each once, sorted by name."""
        return tuple(sorted({tensor.file for tensor in self.tensors.values()}))

    @property
    def num_bytes(self) -> int:
        """Bytes of all tensors of the language model, as stored."""
        return sum(tensor.num_bytes for tensor in self.tensors.values())


def _kind(path: Path) -> str:
    return "a file" if path.exists() else "no such directory"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"expected a readable {path}, got: {error.strerror}") from error


def _check_other_files(root: Path, config: LanguageModelConfig) -> None:
    problems = []
    # A frontend of another kind brings its own files and checks them itself.
    if config.voice_gateway.text_frontend == "bpe" and not (root / TOKENIZER_FILE).is_file():
        problems.append(f"missing {TOKENIZER_FILE}")
    codec = root / CODEC_FILE
    if not codec.is_file():
        problems.append(f"missing {CODEC_FILE}")
    elif not zipfile.is_zipfile(codec):
        # The archive's directory stands at its end, so that a partial download lacks it.
        problems.append(
            f"{CODEC_FILE}: truncated or not a torch archive: expected a zip file, "
            f"got {codec.stat().st_size} bytes without a zip directory"
        )
    if problems:
        raise CheckpointError(f"{root}: " + "; ".join(problems))


def _stored_tensors(root: Path) -> tuple[dict[str, TensorInfo], list[str]]:
    """Every tensor of every shard, and what the index says otherwise."""
    if not (root / INDEX_FILE).exists():
        if not (root / SINGLE_FILE).exists():
            raise CheckpointError(f"{root}: expected {INDEX_FILE} or {SINGLE_FILE}, got neither")
        return read_header(root / SINGLE_FILE), []
    weight_map = _read_index(root / INDEX_FILE)
    names = sorted(set(weight_map.values()))
    missing = [name for name in names if not (root / name).is_file()]
    if missing:
        raise CheckpointError(f"{root}: missing shards named by {INDEX_FILE}: {', '.join(missing)}")
    tensors: dict[str, TensorInfo] = {}
    problems = []
    for name in names:
        for tensor in read_header(root / name).values():
            if tensor.name in tensors:
                first = tensors[tensor.name].file.name
                problems.append(f"{tensor.name}: expected in one shard, got {first} and {name}")
            tensors[tensor.name] = tensor
    for tensor_name, shard in sorted(weight_map.items()):
        found = tensors.get(tensor_name)
        if found is not None and found.file.name != shard:
            problems.append(
                f"{tensor_name}: expected in {shard} ({INDEX_FILE}), got {found.file.name}"
            )
    return tensors, problems


class _Index(msgspec.Struct, frozen=True):
    weight_map: dict[str, str]


def _read_index(path: Path) -> dict[str, str]:
    try:
        weight_map = msgspec.json.decode(_read(path), type=_Index).weight_map
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path}: expected a weight_map of strings, got: {error}") from error
    for shard in weight_map.values():
        # A name with a directory part could point outside of the checkpoint.
        if shard != Path(shard).name or shard in ("", ".."):
            raise CheckpointError(f"{path}: expected plain file names, got {shard!r}")
    return weight_map


def _differences(config: LanguageModelConfig, tensors: Mapping[str, TensorInfo]) -> list[str]:
    expected, quantised = expected_tensors(config), quantised_matrices(config)
    problems = [
        f"missing {name} {list(shape)}" for name, shape in expected.items() if name not in tensors
    ]
    for name, tensor in tensors.items():
        shape = expected.get(name)
        if shape is None:
            problems.append(f"unexpected {name} ({tensor})")
        elif tensor.shape != shape:
            problems.append(f"{name}: expected shape {list(shape)}, got {list(tensor.shape)}")
        elif tensor.dtype not in (dtypes := _dtypes(name, quantised)):
            problems.append(f"{name}: expected dtype {' or '.join(dtypes)}, got {tensor.dtype}")
    return problems


def _dtypes(name: str, quantised: Mapping[str, str]) -> tuple[str, ...]:
    if name in quantised:
        return (quantised[name],)
    return ("F32",) if name.removesuffix(SCALE_SUFFIX) in quantised else WEIGHT_DTYPES


def _list(problems: Iterable[str]) -> str:
    everything = list(problems)
    text = "; ".join(everything[:_LISTED])
    rest = len(everything) - _LISTED
    noun = "problem" if len(everything) == 1 else "problems"
    return f"{len(everything)} {noun}: {text}" + (f"; and {rest} more" if rest > 0 else "")
