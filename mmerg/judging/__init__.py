"""Lets a local model judge the replies of finished runs. A judge is a system with an independent stage per aspect."""
