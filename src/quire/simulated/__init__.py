"""The simulated model: answers from the text alone, by stated rules, with faults on demand."""
