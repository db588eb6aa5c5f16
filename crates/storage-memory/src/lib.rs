//! Every storage port of Companion in memory: for tests, for trying out, and for storage.url = \"memory:\".
