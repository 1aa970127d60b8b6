package main

import "errors"

func writeDocument(results, document string) error { return errors.New("todo") }
