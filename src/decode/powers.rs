//! Powers of ten, as doubles and as 128-bit mantissas. All of it is worked out by the compiler.

/// Powers of ten that are doubles.
pub(super) const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Smallest and largest power of ten of the tables below. Up to 55 a power of five fits 128 bits, and no double within
/// these powers of a 64-bit mantissa is subnormal or infinite.
pub(super) const SMALLEST: i64 = -72;
pub(super) const LARGEST: i64 = 55;
const COUNT: usize = (LARGEST - SMALLEST + 1) as usize;

/// The upper 64 bits of the mantissa of each power of five, its top bit set.
pub(super) static UPPER: [u64; COUNT] = halves(true);
/// The lower 64 bits of the same.
pub(super) static LOWER: [u64; COUNT] = halves(false);

/// Limbs that hold 2 to the power of 2 × 168 + 128, which the smallest power needs (168 bits).
const LIMBS: usize = 8;

/// The first of the powers below: most numbers need 20 digits right of a dot, and up to eleven more left of it.
pub(super) const USUAL: i64 = -20;
const USUAL_COUNT: usize = 32;

/// The powers of ten from [`USUAL`] on, each as the nearest double and what is left of it, which is at most half of that
/// double's last bit and itself rounded to a double.
pub(super) static NEAREST: [f64; USUAL_COUNT] = parts(false);
pub(super) static REST: [f64; USUAL_COUNT] = parts(true);

const fn parts(rest: bool) -> [f64; USUAL_COUNT] {
    let mut table = [0.0; USUAL_COUNT];
    let mut count = 0;
    while count < USUAL_COUNT {
        let power = USUAL + count as i64;
        let index = (power - SMALLEST) as usize;
        let mantissa = ((UPPER[index] as u128) << 64) | LOWER[index] as u128;
        let nearest = (mantissa + (1 << 74)) >> 75;
        // floor(power × log2(10)), as `eisel_lemire` has it, is the exponent of the top one of 128 bits.
        let unit = ((217_706 * power) >> 16) - 127;
        table[count] = if rest {
            (mantissa as i128).wrapping_sub((nearest << 75) as i128) as f64 * two_to(unit)
        } else {
            nearest as f64 * two_to(unit + 75)
        };
        count += 1;
    }
    table
}

/// A power of two, neither subnormal nor infinite.
const fn two_to(power: i64) -> f64 {
    f64::from_bits(((power + 1_023) as u64) << 52)
}

const fn halves(upper: bool) -> [u64; COUNT] {
    let mut table = [0; COUNT];
    let mut index = 0;
    while index < COUNT {
        let power = index as i64 + SMALLEST;
        let mantissa = if power < 0 { reciprocal_of_five(-power) } else { power_of_five(power) };
        table[index] = if upper { (mantissa >> 64) as u64 } else { mantissa as u64 };
        index += 1;
    }
    table
}

/// 5 to `power`, shifted until its top bit is set.
const fn power_of_five(power: i64) -> u128 {
    let mut value = 1u128;
    let mut count = 0;
    while count < power {
        value *= 5;
        count += 1;
    }
    value << value.leading_zeros()
}

/// One 128-bit unit above 1 / 5 to `power`, cut to its top 128 bits (Lemire, "Number parsing at a gigabyte per second",
/// section 5): 2 to a power that leaves more than 128 bits, divided.
const fn reciprocal_of_five(power: i64) -> u128 {
    // ceil(log2(5^power)); 2^power is never a power of five.
    let bits = ((power as u32 * 152_170) >> 16) + 1;
    let shift = if power <= 27 { bits + 127 } else { 2 * bits + 128 };
    let mut limbs = [0u64; LIMBS];
    limbs[(shift / 64) as usize] = 1 << (shift % 64);
    let mut count = 0;
    while count < power {
        let mut rest = 0u128;
        let mut limb = LIMBS;
        while limb > 0 {
            limb -= 1;
            let value = (rest << 64) | limbs[limb] as u128;
            limbs[limb] = (value / 5) as u64;
            rest = value % 5;
        }
        count += 1;
    }
    let mut limb = 0; // plus one, with its carry
    while limb < LIMBS {
        let (sum, carried) = limbs[limb].overflowing_add(1);
        limbs[limb] = sum;
        if !carried {
            break;
        }
        limb += 1;
    }
    let mut top = LIMBS - 1;
    while limbs[top] == 0 {
        top -= 1;
    }
    let zeros = limbs[top].leading_zeros();
    let third = if top >= 2 { limbs[top - 2] } else { 0 };
    let whole = ((limbs[top] as u128) << 64) | limbs[top - 1] as u128;
    if zeros == 0 { whole } else { (whole << zeros) | (third >> (64 - zeros)) as u128 }
}
