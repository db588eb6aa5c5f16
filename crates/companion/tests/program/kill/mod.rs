//! A program that is killed at any moment has kept what it acknowledged, and brings back nothing that was ended.

mod guilds;
mod people;

/// How often the program is killed, unless this variable says another number.
const KILLS: u32 = 3;
const KILLS_VARIABLE: &str = "KILLS";

fn kills() -> u32 {
    std::env::var(KILLS_VARIABLE).map_or(KILLS, |text| text.parse().unwrap())
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}
