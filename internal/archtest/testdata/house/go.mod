module example.com/house

go 1.25.0
