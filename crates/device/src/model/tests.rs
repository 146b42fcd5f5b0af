//! Tests of the model, held against the numbers of the papers.

use super::knee::{SATURATION_SHARE, saturation_depth};
use super::preset::{Collection, Preset};
use super::*;

#[test]
fn presets_are_found_by_name_and_listed() {
    assert_eq!(Preset::all().len(), 11);
    for preset in Preset::all() {
        assert_eq!(Preset::by_name(&preset.name.to_uppercase()).unwrap().name, preset.name);
        assert_eq!(preset.model().name, preset.name);
    }
    assert!(Preset::by_name("floppy").is_none());
}

#[test]
fn paper_presets_hold_the_papers_table() {
    let row = |name: &str, bytes| {
        let size = Preset::by_name(name).unwrap().model().at(bytes);
        (size.alpha, size.k_r, size.k_w)
    };
    assert_eq!(row("optane-p4800x", 4096), (1.1, 6, 5));
    assert_eq!(row("optane-p4800x", 8192), (1.0, 4, 4));
    assert_eq!(row("p4510", 4096), (2.8, 80, 8));
    assert_eq!(row("p4510", 8192), (1.9, 40, 7));
    assert_eq!(row("p4510-raw", 4096), (3.0, 16, 6));
    assert_eq!(row("p4510-raw", 8192), (3.0, 15, 4));
    assert_eq!(row("sata-s4610", 4096), (1.5, 25, 9));
    assert_eq!(row("sata-s4610", 8192), (1.3, 21, 5));
    assert_eq!(row("aws-io-60k", 4096), (2.0, 11, 19));
    assert_eq!(row("aws-io-60k", 8192), (1.9, 6, 10));
    assert_eq!(row("hdd-2t", 4096), (1.0, 1, 1));
    assert_eq!(row("dc-p4500", 4096), (11.9, 40, 8));
}

#[test]
fn every_preset_obeys_its_own_parameters() {
    for preset in Preset::all() {
        let model = preset.model();
        for size in &model.sizes {
            for op in [Op::Read, Op::Write] {
                let points = model.curve(op, size.bytes).unwrap().throughput();
                let k = saturation_depth(&points, SATURATION_SHARE).unwrap();
                // Just over 90% at k leaves a k of 80 one short.
                let off = size.k(op) - k;
                assert!(off <= size.k(op) / 50, "{} {op} {}: {k}", preset.name, size.bytes);
                let max = model.iops(op, size.bytes, 256);
                assert!((max / size.iops_max(op) - 1.0).abs() < 1e-9, "{}", preset.name);
            }
            let alpha = size.read_iops_max / size.write_iops_max;
            // The paper rounds a disk's 1.04 to 1.
            assert!((alpha / size.alpha - 1.0).abs() < 0.05, "{} {alpha}", preset.name);
        }
    }
}

#[test]
fn latency_never_falls_and_throughput_never_falls_with_depth() {
    for preset in Preset::all() {
        let model = preset.model();
        for op in [Op::Read, Op::Write] {
            for bytes in [512, 4096, 6000, 8192, 65536, 1 << 20] {
                for depth in 1..200 {
                    let (a, b) = (model.iops(op, bytes, depth), model.iops(op, bytes, depth + 1));
                    assert!(b >= a * (1.0 - 1e-9), "{} {op} {bytes} {depth}", preset.name);
                    if preset.collection == Collection::Paper {
                        let (a, b) = (
                            model.latency_ns(op, bytes, depth),
                            model.latency_ns(op, bytes, depth + 1),
                        );
                        assert!(b + 1 >= a, "{} {op} {bytes} {depth}: {a} {b}", preset.name);
                    }
                }
            }
        }
    }
}

#[test]
fn larger_requests_never_move_fewer_bytes_beyond_the_table() {
    let model = Preset::by_name("p4510").unwrap().model();
    let small = model.bytes_per_second(Op::Read, 8192, 128);
    let large = model.bytes_per_second(Op::Read, 1 << 20, 128);
    assert!((large / small - 1.0).abs() < 1e-6);
    assert!(model.at(1 << 20).k_r < model.at(8192).k_r);
}

#[test]
fn an_ideal_device_is_pio_to_the_letter() {
    let pio = Pio::new(0, 80, 8, 2.8);
    let model = DeviceModel::pio("ideal", 4096, 10.0, &pio);
    assert_eq!(model.service_ns(Op::Read, 4096), 10_000);
    assert_eq!(model.service_ns(Op::Write, 4096), 28_000);
    assert_eq!(model.channels(Op::Read, 65536), 80);
    assert_eq!(model.channels(Op::Write, 512), 8);
    assert!((model.at(4096).alpha_batch() - 2.8).abs() < 1e-9);
    assert_eq!(model.latency_ns(Op::Read, 4096, 160), 20_000);
    assert_eq!(model.latency_ns(Op::Read, 4096, 80), 10_000);
}

#[test]
fn a_model_survives_json() {
    for preset in Preset::all() {
        let model = preset.model();
        let text = serde_json::to_string(&model).unwrap();
        assert!(text.contains(r#""op":"read""#));
        let again = serde_json::from_str::<DeviceModel>(&text).unwrap();
        assert_eq!((&again.name, again.timing), (&model.name, model.timing));
        assert_eq!(
            (again.sizes.len(), again.curves.len()),
            (model.sizes.len(), model.curves.len())
        );
        for depth in [1, 5, 100] {
            let ratio = again.iops(Op::Write, 5000, depth) / model.iops(Op::Write, 5000, depth);
            assert!((ratio - 1.0).abs() < 1e-9, "{} at depth {depth}: {ratio}", preset.name);
        }
    }
    let wrong = r#"{"op":"erase","bytes":1,"points":[]}"#;
    assert!(serde_json::from_str::<Curve>(wrong).unwrap_err().to_string().contains("erase"));
}

#[test]
fn a_curve_is_a_line_between_points_and_flat_after_them() {
    let at = |depth, iops| CurvePoint { depth, iops, p50_us: 10.0 * f64::from(depth) };
    let curve = Curve { op: Op::Read, bytes: 4096, points: vec![at(2, 200.0), at(4, 300.0)] };
    assert_eq!(curve.iops(1.0), 100.0);
    assert_eq!(curve.iops(3.0), 250.0);
    assert_eq!(curve.iops(9.0), 300.0);
    assert_eq!(curve.p50_us(3.0), 30.0);
    assert_eq!(curve.p50_us(8.0), 80.0);
}
