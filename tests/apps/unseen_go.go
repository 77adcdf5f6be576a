// Writes 2 MiB in 2 calls to the file that it is told.
package main

import "os"

func main() {
	file, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	for i := 0; i < 2; i++ {
		if _, err := file.Write(make([]byte, 1<<20)); err != nil {
			panic(err)
		}
	}
}
