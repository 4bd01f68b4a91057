"""Programs of exporters, compiled as a whole and checked by recipes beside them."""
