"""What Python packs import of their host, as in Automata (seed 004). `app.src` has the pack."""
