"""Tests of `morello/spec/graphs`: text, canonical form, rules and meaning."""
