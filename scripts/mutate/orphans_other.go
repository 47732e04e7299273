//go:build !linux

package main

// adopt does nothing: only Linux can do that.
func adopt() error { return nil }

// killOrphans does nothing.
func killOrphans() {}
