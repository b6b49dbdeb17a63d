/** Parses the numbers in `012`, `012, 014 and 016` or `012 to 016`. */
export const numbersIn = (text: string): ReadonlyArray<number> =>
  [...text.matchAll(/(\d{3})(?:\s+to\s+(\d{3}))?/g)].flatMap(([, from, to = from]) => {
    const first = Number(from)
    return Array.from({ length: Number(to) - first + 1 }, (_, index) => first + index)
  })

/** The numbers of cases in the titles of the tests of a file. */
export const titlesOf = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(/cases? (\d{3}[^:`"]*):/g)].map(([, numbers = ""]) => numbers)
