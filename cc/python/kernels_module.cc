// The kernels as a Python module on NumPy arrays, without TensorFlow: for tests, sanitizers and
// experiments.
//
// Thin on purpose: it allocates, checks the shapes that a wrong call would crash on, and calls. The
// values of labels and lengths are the caller's, as they are for every host of the kernels.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cc/kernels/ctc_align.h"
#include "cc/kernels/ctc_greedy_decode.h"
#include "cc/kernels/ctc_loss.h"

namespace py = pybind11;

namespace warpctc {
namespace {

template <typename T>
using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;

// Plain threads, one a worker.
struct Threads {
  WorkerPool pool;

  explicit Threads(int count) : pool{count, nullptr, &Run} {}

  static void Run(void*, int num_workers, void (*work)(void*, int), void* argument) {
    std::vector<std::thread> threads;
    for (int i = 1; i < num_workers; ++i) threads.emplace_back(work, argument, i);
    work(argument, 0);
    for (std::thread& thread : threads) thread.join();
  }
};

SimdLevel LevelOfName(const std::string& name) {
  if (name.empty()) return ActiveSimdLevel();
  for (SimdLevel level : {SimdLevel::kBaseline, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (name == SimdLevelName(level) && level <= HighestSimdLevel()) return level;
  }
  throw std::invalid_argument("level: expected one of simd_levels(), received \"" + name + "\"");
}

std::vector<std::string> SimdLevels() {
  std::vector<std::string> names;
  for (SimdLevel level : {SimdLevel::kBaseline, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (level <= HighestSimdLevel()) names.push_back(SimdLevelName(level));
  }
  return names;
}

void Expect(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// Frames of `capacity` each (a number, or one a row), held for the length of a call.
struct Frames {
  Array<int64_t> base, length, capacity;
  std::vector<int64_t> first_frame;
  FrameBatch batch;

  Frames(py::ssize_t logits_size, Array<int64_t> base_in, int64_t stride, Array<int64_t> length_in,
         Array<int64_t> capacity_in, int64_t num_classes)
      : base(base_in), length(length_in), capacity(capacity_in) {
    Expect(base.ndim() == 1 && length.size() == base.size() && capacity.size() == base.size(),
           "base, logit_length, capacity: expected one number a row");
    int64_t frames = 0;
    for (py::ssize_t b = 0; b < base.size(); ++b) {
      first_frame.push_back(frames);
      frames += capacity.data()[b];
      const int64_t last = base.data()[b] + (capacity.data()[b] - 1) * stride + num_classes;
      Expect(capacity.data()[b] == 0 || last <= logits_size, "logits: shorter than the frames");
      Expect(length.data()[b] <= capacity.data()[b], "logit_length: above capacity");
    }
    batch = {base.size(),   num_classes,     base.data(),        stride,
             length.data(), capacity.data(), first_frame.data(), frames};
  }
};

// Which lattice rows are saved of each row.
template <typename Real>
struct SavedLattice {
  std::vector<int64_t> first_row;
  int64_t rows;
  int64_t row_size;

  SavedLattice(const FrameBatch& frames, int64_t max_label_length)
      : first_row(frames.batch),
        rows(FillFirstSavedRows<Real>(frames, max_label_length, first_row.data())),
        row_size(LatticeRowSize<Real>(max_label_length)) {}
};

struct Labels {
  Array<int32_t> ids;
  Array<int64_t> length;
  std::vector<int64_t> base;
  LabelBatch batch;

  Labels(Array<int32_t> ids_in, Array<int64_t> length_in, int32_t blank)
      : ids(ids_in), length(length_in) {
    Expect(ids.ndim() == 2 && length.size() == ids.shape(0), "labels: expected [B, U]");
    for (py::ssize_t b = 0; b < ids.shape(0); ++b) base.push_back(b * ids.shape(1));
    batch = {ids.data(), base.data(), length.data(), ids.shape(1), blank};
  }
};

// Calls call(Logit()) for the logit type named by dtype, or the array's own when that is empty.
template <typename Call>
auto WithLogitType(const py::array& logits, const std::string& dtype, const Call& call) {
  const std::string name = dtype.empty() ? py::str(logits.dtype()).cast<std::string>() : dtype;
  const size_t size = name == "float64" ? 8 : name == "float32" ? 4 : 2;
  Expect(logits.flags() & py::array::c_style, "logits: expected a contiguous array");
  Expect(static_cast<size_t>(logits.itemsize()) == size, "logits: dtype of another size");
  if (name == "float16") return call(Half());
  if (name == "bfloat16") return call(BFloat16());
  if (name == "float32") return call(float());
  if (name == "float64") return call(double());
  throw std::invalid_argument("dtype: expected float16, bfloat16, float32 or float64, received " +
                              name);
}

py::dict Loss(py::array logits, Array<int64_t> base, int64_t stride, Array<int64_t> logit_length,
              Array<int64_t> capacity, int64_t num_classes, Array<int32_t> labels,
              Array<int64_t> label_length, int32_t blank, bool zero_infinity, bool residuals,
              int threads, const std::string& level_name, const std::string& dtype) {
  const Frames frames(logits.size(), base, stride, logit_length, capacity, num_classes);
  const Labels label_batch(labels, label_length, blank);
  const Threads workers(threads);
  const SimdLevel level = LevelOfName(level_name);
  return WithLogitType(logits, dtype, [&](auto logit) {
    using Logit = decltype(logit);
    using Real = RealOf<Logit>;
    const SavedLattice<Real> saved_lattice(frames.batch, label_batch.batch.max_length);
    py::array_t<Real> loss(frames.batch.batch);
    py::array_t<Real> normalizers({frames.batch.num_frames, int64_t{2}});
    py::array_t<Real> lattice({saved_lattice.rows, saved_lattice.row_size});
    py::array_t<Real> likelihood({frames.batch.batch, int64_t{2}});
    std::vector<char> scratch(CtcLossScratchBytes<Logit>(frames.batch, label_batch.batch, threads));
    const CtcLossProblem<Logit> problem{frames.batch, label_batch.batch,
                                        static_cast<const Logit*>(logits.data()),
                                        saved_lattice.first_row.data(), zero_infinity};
    CtcLossResiduals<Real> saved{nullptr, nullptr, nullptr};
    if (residuals) {
      saved = {normalizers.mutable_data(), lattice.mutable_data(), likelihood.mutable_data()};
    }
    Real* loss_data = loss.mutable_data();
    {
      py::gil_scoped_release release;
      CtcLoss(problem, loss_data, saved, scratch.data(), workers.pool, level);
    }
    py::dict result;
    result["loss"] = loss;
    if (residuals) {
      result["normalizers"] = normalizers;
      result["lattice"] = lattice;
      result["likelihood"] = likelihood;
    }
    return result;
  });
}

// gradient: written in place, so that a test can look at what lies around the rows.
void LossGradient(py::array logits, Array<int64_t> base, int64_t stride,
                  Array<int64_t> logit_length, Array<int64_t> capacity, int64_t num_classes,
                  Array<int32_t> labels, Array<int64_t> label_length, int32_t blank,
                  py::dict residuals, py::array upstream, py::array gradient, int threads,
                  const std::string& level_name, const std::string& dtype) {
  const Frames frames(logits.size(), base, stride, logit_length, capacity, num_classes);
  const Labels label_batch(labels, label_length, blank);
  const Threads workers(threads);
  const SimdLevel level = LevelOfName(level_name);
  Expect(gradient.size() >= logits.size() && gradient.itemsize() == logits.itemsize() &&
             (gradient.flags() & py::array::c_style),
         "gradient: expected a contiguous array like the logits");
  WithLogitType(logits, dtype, [&](auto logit) {
    using Logit = decltype(logit);
    using Real = RealOf<Logit>;
    const auto normalizers = residuals["normalizers"].cast<Array<Real>>();
    const auto lattice = residuals["lattice"].cast<Array<Real>>();
    const auto likelihood = residuals["likelihood"].cast<Array<Real>>();
    const auto scale = upstream.cast<Array<Real>>();
    const SavedLattice<Real> saved_lattice(frames.batch, label_batch.batch.max_length);
    Expect(normalizers.size() == frames.batch.num_frames * 2 &&
               lattice.size() == saved_lattice.rows * saved_lattice.row_size &&
               likelihood.size() == frames.batch.batch * 2 && scale.size() == frames.batch.batch,
           "residuals, upstream: of another problem");
    std::vector<char> scratch(
        CtcLossGradientScratchBytes<Logit>(frames.batch, label_batch.batch, threads));
    const CtcLossProblem<Logit> problem{frames.batch, label_batch.batch,
                                        static_cast<const Logit*>(logits.data()),
                                        saved_lattice.first_row.data(), false};
    auto* gradient_data = static_cast<Logit*>(gradient.mutable_data());
    py::gil_scoped_release release;
    CtcLossGradient<Logit>(problem, {normalizers.data(), lattice.data(), likelihood.data()},
                           scale.data(), gradient_data, scratch.data(), workers.pool, level);
  });
}

py::dict GreedyDecode(py::array logits, Array<int64_t> base, int64_t stride,
                      Array<int64_t> logit_length, Array<int64_t> capacity, int64_t num_classes,
                      int32_t blank, bool merge_repeated, int64_t padding, int threads,
                      const std::string& level_name, const std::string& dtype) {
  const Frames frames(logits.size(), base, stride, logit_length, capacity, num_classes);
  const Threads workers(threads);
  const SimdLevel level = LevelOfName(level_name);
  return WithLogitType(logits, dtype, [&](auto logit) {
    using Logit = decltype(logit);
    using Real = RealOf<Logit>;
    const int64_t count = frames.batch.num_frames;
    py::array_t<int64_t> tokens(count), starts(count), ends(count), lengths(frames.batch.batch);
    py::array_t<Real> score(frames.batch.batch), log_probability(count);
    std::vector<char> scratch(CtcGreedyDecodeScratchBytes<Logit>(frames.batch));
    const CtcGreedyDecodeProblem<Logit> problem{
        frames.batch, static_cast<const Logit*>(logits.data()), blank, merge_repeated};
    const CtcGreedyDecodeResult<int64_t, Real> decoded{
        tokens.mutable_data(),         lengths.mutable_data(), padding,
        score.mutable_data(),          starts.mutable_data(),  ends.mutable_data(),
        log_probability.mutable_data()};
    {
      py::gil_scoped_release release;
      CtcGreedyDecode(problem, decoded, scratch.data(), workers.pool, level);
    }
    py::dict result;
    result["tokens"] = tokens;
    result["lengths"] = lengths;
    result["score"] = score;
    result["start_frames"] = starts;
    result["end_frames"] = ends;
    result["log_probability"] = log_probability;
    return result;
  });
}

py::dict Align(Array<int64_t> ids, Array<int64_t> length, int64_t blank, bool merge_repeated,
               int64_t padding, int threads) {
  Expect(ids.ndim() == 2 && length.size() == ids.shape(0), "ids: expected [B, T]");
  const Threads workers(threads);
  std::vector<int64_t> base, capacity;
  for (py::ssize_t b = 0; b < ids.shape(0); ++b) {
    base.push_back(b * ids.shape(1));
    capacity.push_back(ids.shape(1));
  }
  py::array_t<int64_t> aligned({ids.shape(0), ids.shape(1)}), lengths(ids.shape(0));
  const CtcAlignProblem<int64_t> problem{ids.data(),    ids.shape(0),    base.data(),
                                         length.data(), capacity.data(), blank,
                                         padding,       merge_repeated};
  CtcAlign(problem, aligned.mutable_data(), lengths.mutable_data(), workers.pool);
  py::dict result;
  result["aligned"] = aligned;
  result["lengths"] = lengths;
  return result;
}

PYBIND11_MODULE(_kernels, module) {
  using namespace py::literals;
  module.doc() =
      "The kernels of tf_warpctc on NumPy arrays. Frame (b, t) of the logits is the num_classes "
      "elements from base[b] + t * stride; rows have capacity[b] frames, logit_length[b] of them "
      "live. Half types travel as uint16 with dtype=\"float16\" or \"bfloat16\".";
  module.def("simd_levels", &SimdLevels, "Levels of this machine, in rising order.");
  module.def("ctc_loss", &Loss, "logits"_a, "base"_a, "stride"_a, "logit_length"_a, "capacity"_a,
             "num_classes"_a, "labels"_a, "label_length"_a, "blank"_a = 0,
             "zero_infinity"_a = false, "residuals"_a = true, "threads"_a = 1, "level"_a = "",
             "dtype"_a = "");
  module.def("ctc_loss_gradient", &LossGradient, "logits"_a, "base"_a, "stride"_a, "logit_length"_a,
             "capacity"_a, "num_classes"_a, "labels"_a, "label_length"_a, "blank"_a, "residuals"_a,
             "upstream"_a, "gradient"_a, "threads"_a = 1, "level"_a = "", "dtype"_a = "");
  module.def("ctc_greedy_decode", &GreedyDecode, "logits"_a, "base"_a, "stride"_a, "logit_length"_a,
             "capacity"_a, "num_classes"_a, "blank"_a = 0, "merge_repeated"_a = true,
             "padding"_a = -1, "threads"_a = 1, "level"_a = "", "dtype"_a = "");
  module.def("ctc_align", &Align, "ids"_a, "length"_a, "blank"_a = 0, "merge_repeated"_a = true,
             "padding"_a = 0, "threads"_a = 1);
}

}  // namespace
}  // namespace warpctc
