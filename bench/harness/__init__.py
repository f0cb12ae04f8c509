"""What benchmarks share.

* **Figures** are medians over repetitions; the table shows the least and the most beside them.
* **A reference** on the same machine in the same run (bare SQL on the same PostgreSQL) says whether the
  machine was itself: figures from a run in which the reference is far off are void.
* **Counted where it counts**: what is durable is counted in the database, not by who did it.
* **Ratios** are printed with both absolute figures.
"""
