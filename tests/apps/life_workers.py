"""Workers of multiprocessing by argv[1] (fork, spawn, forkserver), started from a thread; each writes some kB."""

import multiprocessing
import sys
import threading


def work(number):
    with open(f"worker{number}", "wb", buffering=0) as file:
        for _ in range(number):
            file.write(bytes(1000))


def start_all(context):
    workers = [context.Process(target=work, args=(number,)) for number in range(1, 6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 5


if __name__ == "__main__":
    starter = threading.Thread(target=start_all, args=(multiprocessing.get_context(sys.argv[1]),))
    starter.start()
    starter.join()
