"""The figures that papers print, as data with their source, a table a file; `published` reads them."""
