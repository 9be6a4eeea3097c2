"""The small empathetic model of HEF (2024): a classifier whose emotions and cause words guide a language model."""
