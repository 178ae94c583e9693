// Package stray stands in no room.
package stray
