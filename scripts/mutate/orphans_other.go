//go:build !linux

package main

// adopt does nothing: only Linux hands orphans over.
func adopt() error { return nil }

// killOrphans does nothing.
func killOrphans() {}
