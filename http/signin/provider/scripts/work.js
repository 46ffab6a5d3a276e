// Computes the proof of work that package pow describes. It does not use the SHA-256 of the
// browser: a single call of that takes longer than a hundred hashes here, and it is missing on
// pages without https.

const K = new Uint32Array(64);
const H = new Uint32Array(8);

// The constants of SHA-256: fractional parts of the cube and square roots of the
// first primes (FIPS 180-4 §4.2.2, §5.3.3).
{
  const fraction = (x) => Math.floor((x - Math.floor(x)) * 2 ** 32);
  for (let n = 2, found = 0; found < 64; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false;
    if (!prime) continue;
    if (found < 8) H[found] = fraction(Math.sqrt(n));
    K[found++] = fraction(Math.cbrt(n));
  }
}

const w = new Int32Array(64);

// firstWord returns the first 32 bits of the hash of the 64 bytes in w.
function firstWord() {
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15], y = w[i - 2];
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
  }
  let a = H[0] | 0, b = H[1] | 0, c = H[2] | 0, d = H[3] | 0, e = H[4] | 0, f = H[5] | 0, g = H[6] | 0, h = H[7] | 0;
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g; g = f; f = e; e = (d + t1) | 0;
    d = c; c = b; b = a; a = (t1 + t2) | 0;
  }
  return (H[0] + a) >>> 0;
}

// tryPart tries count counters of a part, beginning with from. It returns the first that solves
// the part, or -1 if none does.
export function tryPart(seed, bits, part, from, count) {
  for (let i = 0; i < 8; i++) w[i] = parseInt(seed.slice(8 * i, 8 * i + 8), 16);
  w.fill(0, 10, 16);
  w[8] = part;
  w[10] = 1 << 31; // padding after the message of 40 bytes
  w[15] = 320; // length of the message in bits
  for (let counter = from; counter < from + count; counter++) {
    w[9] = counter;
    if (firstWord() >>> (32 - bits) === 0) return counter;
  }
  return -1;
}

// solvePart returns the first counter that solves a part.
export function solvePart(seed, bits, part) {
  for (let from = 0; ; from += 2 ** 16) {
    const counter = tryPart(seed, bits, part, from, 2 ** 16);
    if (counter >= 0) return counter;
  }
}
