"""Looking at runs and plans: what `import pipetrace` offers beside recording."""
