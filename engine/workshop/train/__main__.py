"""`python -m engine.workshop.train voice --work DIR`: the built-in voice, or a stage of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def main() -> None:
    """Training programs for checkpoints in the S2-Pro layout."""


@app.command()
def voice(
    work: Annotated[
        Path, typer.Option(help="Folder for corpus, states and the exported checkpoint.")
    ],
    config: Annotated[
        Path | None, typer.Option(help="TOML file; default: the built-in voice's.")
    ] = None,
    stage: Annotated[list[str] | None, typer.Option(help="Only these stages, in order.")] = None,
    threads: Annotated[int, typer.Option(help="Threads of the arithmetic.")] = os.cpu_count() or 1,
) -> None:
    """Make the built-in voice: corpus, codes, encode, wave, ar, export. Every stage resumes."""
    import torch

    from engine.workshop.train.recipe import VoiceConfig
    from engine.workshop.train.stages.voice import VoiceProject

    torch.set_num_threads(threads)
    project = VoiceProject(work, VoiceConfig.load(config))
    stages = project.stages()
    unknown = [name for name in stage or [] if name not in stages]
    if unknown:
        raise typer.BadParameter(
            f"expected stages among {', '.join(stages)}, got {', '.join(unknown)}"
        )
    left = {name: s for name, s in project.left_s().items() if name in (stage or stages)}
    hours = sum(left.values()) / 3600
    print(f"training left: {hours:.1f} hours of one core ({left}); corpus and codes: minutes")
    for name in stage or stages:
        print(f"stage {name}", flush=True)
        stages[name]()


@app.command()
def evaluate(
    work: Annotated[Path, typer.Option(help="Folder of `voice`.")],
    config: Annotated[Path | None, typer.Option(help="TOML file of `voice`.")] = None,
    out: Annotated[Path | None, typer.Option(help="Speak all sentences into this folder.")] = None,
    temperature: Annotated[float, typer.Option(help="0: greedy.")] = 0.3,
) -> None:
    """Say how well the voice in training reads; with --out let it speak, for `judging.judge`."""
    from engine.workshop.train.judging.evaluate import all_sentences, phone_errors, say
    from engine.workshop.train.judging.generate import Drawing
    from engine.workshop.train.recipe import VoiceConfig
    from engine.workshop.train.stages.voice import VoiceProject

    project = VoiceProject(work, VoiceConfig.load(config))
    how = Drawing(temperature=temperature, residual_temperature=min(0.5, 2 * temperature))
    print(phone_errors(project, how))
    if out is not None:
        print(say(project, all_sentences(), out, how))


@app.command()
def curves(
    folder: Annotated[Path, typer.Argument(help="A stage's folder: codes, wave, ar or encoder.")],
) -> None:
    """Draw a stage's curves into FOLDER/curves.svg."""
    from engine.workshop.train.judging.curves import draw

    print(draw(folder))


@app.command()
def voices(
    folder: Annotated[Path, typer.Argument(help="Where name.wav + name.txt go.")],
    count: Annotated[int, typer.Option(help="How many, at most 30.")] = 30,
    rate_hz: Annotated[int, typer.Option(help="Rate of the recordings.")] = 22050,
) -> None:
    """Make voices to clone: pitch, formant and speed variants of the teacher."""
    from engine.workshop.train.corpus.voices import make_voices

    for path in make_voices(folder, count, rate_hz):
        print(path)


@app.command()
def recordings(
    folder: Annotated[Path, typer.Argument(help="Where name.wav, name.txt and name.json go.")],
    rate_hz: Annotated[int, typer.Option(help="Rate of the recordings.")] = 22050,
) -> None:
    """Record the evaluation sentences in the teacher's voice, with the time of every word."""
    from engine.workshop.train.corpus.recordings import make_recordings
    from engine.workshop.train.judging.evaluate import all_sentences

    print(f"{len(make_recordings(folder, all_sentences(), rate_hz))} recordings in {folder}")


@app.command()
def finetune(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint in the S2-Pro layout.")],
    recordings: Annotated[Path, typer.Argument(help="Folder of name.wav + name.txt.")],
    out: Annotated[Path, typer.Argument(help="New folder for the result.")],
    minutes: Annotated[float, typer.Option(help="Processor time to spend.")] = 30.0,
    lora_rank: Annotated[int, typer.Option(help="Rank of the adapters; 0: all weights.")] = 16,
    rate: Annotated[float, typer.Option(help="Learning rate.")] = 2e-4,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
) -> None:
    """Fine-tune a checkpoint on recordings, whole or by LoRA."""
    from engine.workshop.train.stages.finetune import FinetunePlan
    from engine.workshop.train.stages.finetune import finetune as run

    plan = FinetunePlan(60 * minutes, lora_rank=lora_rank, rate=rate, device=device)
    run(checkpoint, recordings, out, plan)


if __name__ == "__main__":
    app()
