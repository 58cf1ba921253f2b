"""For researchers: benchmark files, methods, training, measures and tables. The program never imports this room."""
