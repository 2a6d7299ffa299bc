"""The live stream: channels, typed events, the two iterators."""
