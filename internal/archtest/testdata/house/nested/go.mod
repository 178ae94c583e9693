module example.com/house/nested

go 1.25.0
