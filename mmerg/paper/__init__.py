"""The scores that papers print, with their source, in a file per paper; `published` reads them."""
