//! Every kernel against the portable one: whatever stands between delimiters is read alike, or refused alike.

use proptest::prelude::*;

use super::*;

/// Where the byte before each token of a line stands, and where each ends. Each has two bytes of something before it.
fn line(tokens: &[String]) -> (Vec<u8>, Vec<u32>, Vec<u32>) {
    let (mut bytes, mut befores, mut ends) = (vec![b'9'; 40], Vec::new(), Vec::new());
    for token in tokens {
        befores.push(bytes.len() as u32);
        bytes.extend_from_slice(b".7");
        bytes.extend_from_slice(token.as_bytes());
        ends.push(bytes.len() as u32);
    }
    (bytes, befores, ends)
}

/// Values as bits, because -0 is not 0.
fn floats(kernel: Kernel, tokens: &[String]) -> Option<Vec<u64>> {
    let (bytes, befores, ends) = line(tokens);
    let mut values = Vec::new();
    kernel.floats(&bytes, &befores, 2, &ends, &mut values).then(|| values.into_iter().map(f64::to_bits).collect())
}

fn times(kernel: Kernel, tokens: &[String], parted: bool) -> Option<Vec<i64>> {
    let (bytes, befores, ends) = line(tokens);
    let mut values = Vec::new();
    let read = if parted {
        // Every other one is a part of the one before.
        let every_other = |from: &[u32], first: usize| from.iter().copied().skip(first).step_by(2).collect::<Vec<_>>();
        let (seconds, parts) = (every_other(&ends, 0), every_other(&ends, 1));
        let rows = parts.len();
        kernel.times(&bytes, &every_other(&befores, 0)[..rows], 2, &seconds[..rows], Some((2, &parts)), &mut values)
    } else {
        kernel.times(&bytes, &befores, 2, &ends, None, &mut values)
    };
    read.then_some(values)
}

fn alike<T: PartialEq + std::fmt::Debug>(read: impl Fn(Kernel) -> T) -> Result<(), TestCaseError> {
    let wanted = read(Kernel::Scalar);
    for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.supported()) {
        prop_assert_eq!(&read(kernel), &wanted, "{}", kernel.name());
    }
    Ok(())
}

/// Numbers in every spelling.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "(0|[1-9][0-9]{0,15})",
        2 => "(0|[1-9][0-9]{0,9})\\.[0-9]{1,12}",
        1 => "-?(0|[1-9][0-9]{0,3})\\.[0-9]{10,20}",
        1 => "-?[1-9](\\.[0-9]{1,16})?[eE][-+]?[0-9]{1,2}",
    ]
}

/// And now and then what is none.
fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        60 => number(),
        1 => "[0-9.]{0,18}",
        1 => "[-+0-9.eE /:]{0,40}",
    ]
}

proptest! {
    #[test]
    fn numbers_are_read_alike(tokens in prop::collection::vec(token(), 0..40)) {
        alike(|kernel| floats(kernel, &tokens))?;
        alike(|kernel| tokens.iter().map(|one| floats(kernel, std::slice::from_ref(one))).collect::<Vec<_>>())?;
    }

    /// Of long columns some kernels separate short and long numbers, so many at a time.
    #[test]
    fn long_columns_are_read_alike(
        mut tokens in prop::collection::vec(number(), 100..300),
        other in prop::option::of((any::<prop::sample::Index>(), token())),
    ) {
        if let Some((place, token)) = other {
            let place = place.index(tokens.len());
            tokens[place] = token;
        }
        alike(|kernel| floats(kernel, &tokens))?;
    }

    #[test]
    fn times_are_read_alike(tokens in prop::collection::vec(prop_oneof![9 => "(0|[1-9][0-9]{0,9})", 1 => token()], 0..20)) {
        for parted in [false, true] {
            alike(|kernel| times(kernel, &tokens, parted))?;
            let pairs = || tokens.chunks(2).map(<[String]>::to_vec);
            alike(|kernel| pairs().map(|pair| times(kernel, &pair, parted)).collect::<Vec<_>>())?;
        }
    }
}

/// A copy of bytes between two pages that may not be touched, at the end of the first or at the start of the second.
#[cfg(unix)]
fn between_forbidden_pages<T>(bytes: &[u8], at_the_end: bool, work: impl FnOnce(&[u8]) -> T) -> T {
    const PAGE: usize = 1 << 16; // a multiple of every page's size
    assert!(bytes.len() <= PAGE);
    // SAFETY: three new pages, of which the middle one is made accessible; the copy lies in that, and nothing refers to it once
    // `work` is done.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let pages = libc::mmap(std::ptr::null_mut(), 3 * PAGE, libc::PROT_NONE, flags, -1, 0);
        assert!(pages != libc::MAP_FAILED);
        let middle = pages.cast::<u8>().add(PAGE);
        assert_eq!(libc::mprotect(middle.cast(), PAGE, libc::PROT_READ | libc::PROT_WRITE), 0);
        let copy = middle.add(if at_the_end { PAGE - bytes.len() } else { 0 });
        copy.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        let done = work(std::slice::from_raw_parts(copy, bytes.len()));
        assert_eq!(libc::munmap(pages, 3 * PAGE), 0);
        done
    }
}

/// Wherever a number ends, no kernel reads what stands before or behind the bytes.
#[cfg(unix)]
#[test]
fn nothing_outside_of_the_bytes_is_read() {
    for text in ["1.2345678901234567e+07", "-0.12345678901234567890123456789", "12345678901234567.25", "1.5", "12"] {
        for before in 0..40 {
            let mut bytes = vec![b' '; before];
            let (mut starts, mut ends) = (Vec::new(), Vec::new());
            for _ in 0..16 {
                starts.push(bytes.len() as u32);
                bytes.extend_from_slice(text.as_bytes());
                ends.push(bytes.len() as u32);
                bytes.push(b',');
            }
            bytes.pop();
            for at_the_end in [false, true] {
                between_forbidden_pages(&bytes, at_the_end, |bytes| {
                    alike(|kernel| {
                        let (mut values, mut times) = (Vec::new(), Vec::new());
                        let floats = kernel.floats(bytes, &starts, 0, &ends, &mut values);
                        (floats, kernel.times(bytes, &starts, 0, &ends, None, &mut times), values, times)
                    })
                })
                .unwrap();
            }
        }
    }
}

/// The first digit must not be zero before another one, wherever the dot is; and one must stand on each side of that.
#[test]
fn zeros_and_dots_at_every_place_of_every_length_are_read_alike() {
    for length in 1..=20 {
        for dot in 0..=length {
            for first in ["0", "00", "1", "10", "9", "."] {
                let mut text = format!("{first}{}", "7259410836".repeat(2))[..length.max(first.len())].to_owned();
                if dot < length {
                    text.replace_range(dot..=dot, ".");
                }
                for place in 0..4 {
                    let mut tokens = vec!["1.5".to_owned(); 4];
                    tokens[place].clone_from(&text);
                    alike(|kernel| floats(kernel, &tokens)).unwrap();
                    alike(|kernel| times(kernel, &tokens, false)).unwrap();
                }
            }
        }
    }
}
