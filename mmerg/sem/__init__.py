"""The small empathetic model of HEF (2024): a classifier of emotions that tells a language model where to look."""
