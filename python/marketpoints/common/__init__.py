"""What every other folder uses: arguments, times, identity, texts for the screen, logging. Imports none of them."""
