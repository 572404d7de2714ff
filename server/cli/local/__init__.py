"""What commands find out in a folder: imported where no server is meant, for it takes its time.

`why`, `costs`, `budgets`, `inbox`: of the commands of these names.
"""
