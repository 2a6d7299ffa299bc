//! The Python face of the engine: arguments in, arrays out. No logic.
