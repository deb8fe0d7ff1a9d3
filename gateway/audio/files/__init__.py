"""What a client saves: packets in containers, written while they are made."""

from gateway.audio.files.packing import FileStage, file_writer, silent_file

__all__ = ["FileStage", "file_writer", "silent_file"]
