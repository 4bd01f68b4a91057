"""Ops of ONNX as smaller ones: a file for each family of rules."""
