"""The apps the scenarios run, and how their tasks say that they ran."""
