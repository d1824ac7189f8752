# taken by helper 7
