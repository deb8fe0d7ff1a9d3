"""Classes of figures that have a value: counts, dates, times, money, measures, mathematics."""
