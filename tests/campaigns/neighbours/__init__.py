"""One key at its worst beside another key's plain chats."""
