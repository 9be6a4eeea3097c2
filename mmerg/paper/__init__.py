"""The scores that papers print, as data with their source, one file per paper; `published` reads them."""
