// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_painter.h"

#include <QFontMetrics>
#include <algorithm>
#include <cmath>

#include "ui/model/spans/bucket_spans.h"
#include "ui/theme/theme.h"
#include "ui/timeline/span_text.h"

namespace trainyard::ui {
namespace {

constexpr int kHatch = 5;      // distance of hatching lines in pixels
constexpr int kEdgedSpan = 5;  // pixels; minimum width of a span with an edge
constexpr int kLabeled = 24;   // pixels; minimum width of a span with a label

struct Hatching {
  QRgb line = 0, ground = 0;
  bool falls = false;  // hatching lines fall from left to right; otherwise they rise
};

// Fills rectangles of an image. Pixels outside the image are ignored.
class Pixels {
 public:
  explicit Pixels(QImage& image)
      : width_(image.width()), height_(image.height()), stride_(image.bytesPerLine() / 4) {
    first_ = reinterpret_cast<QRgb*>(image.bits());
  }
  void fill(int left, int right, int top, int bottom, QRgb color) {
    left = std::max(left, 0), right = std::min(right, width_), top = std::max(top, 0),
    bottom = std::min(bottom, height_);
    for (int y = top; y < bottom; ++y)
      std::fill(first_ + y * stride_ + left, first_ + y * stride_ + std::max(right, left), color);
  }
  void hatch(int left, int right, int top, int bottom, const Hatching& with) {
    left = std::max(left, 0), right = std::min(right, width_), top = std::max(top, 0),
    bottom = std::min(bottom, height_);
    for (int y = top; y < bottom; ++y)
      for (int x = left; x < right; ++x)
        first_[y * stride_ + x] =
            (with.falls ? x + kHatch * height_ - y : x + y) % kHatch == 0 ? with.line : with.ground;
  }

 private:
  QRgb* first_;
  int width_, height_, stride_;
};

class SpanPainting {
 public:
  SpanPainting(const TimelineScene& scene, const TimelineColors& colors)
      : scene_(scene),
        colors_(colors),
        columns_{scene.view, pixels(scene.body.width())},
        metrics_(scene.font) {
    picture_.image =
        QImage(pixels(scene.body.width()), pixels(scene.body.height()), QImage::Format_RGB32);
    picture_.image.setDevicePixelRatio(scene.pixel_ratio);
    picture_.image.fill(colors.ground);
    for (std::size_t i = 0; i < kSpanKinds; ++i) {
      kinds_[i] = colors.kinds[i].rgb();
      pale_[i] = mixed(colors.kinds[i], colors.ground, 0.78).rgb();
      edges_[i] = mixed(colors.kinds[i], colors.ground, 0.45).rgb();
    }
    waiting_ = {colors.waiting.rgb(), mixed(colors.waiting, colors.ground, 0.8).rgb(), false};
    held_ = {mixed(colors.held, colors.ground, 0.35).rgb(),
             mixed(colors.held, colors.ground, 0.85).rgb(), true};
  }

  SpansPicture paint() {
    if (scene_.view.width() <= 0 || picture_.image.isNull()) return std::move(picture_);
    Pixels area(picture_.image);
    paint_stripes(area);
    paint_steps(area);
    for (const LaneRow& row : scene_.rows->rows()) {
      const QRect box = scene_.row_rect(row);
      if (box.bottom() < scene_.body.top()) continue;
      if (box.top() > scene_.body.bottom()) break;
      paint_lane(area, row, box.translated(-scene_.body.topLeft()));
    }
    return std::move(picture_);
  }

 private:
  int pixels(double logical) const { return std::max(1, qRound(logical * scene_.pixel_ratio)); }

  // Paints a second background color behind every other rank.
  void paint_stripes(Pixels& area) {
    for (int rank = 1; rank < scene_.store->ranks(); rank += 2) {
      const auto block = scene_.rows->rank_block(rank);
      area.fill(0, columns_.pixels(), pixels(block.top - scene_.scroll),
                pixels(block.bottom - scene_.scroll), colors_.stripe.rgb());
    }
  }

  void paint_steps(Pixels& area) {
    const auto& steps = scene_.steps->steps();
    for (std::size_t i = scene_.steps->first_ending_after(scene_.view.begin);
         i < steps.size() && steps[i].range.end < scene_.view.end;) {
      const int at = columns_.of(steps[i].range.end);
      area.fill(at, at + 1, 0, picture_.image.height(), colors_.line.rgb());
      i = std::max(i + 1, scene_.steps->first_ending_after(columns_.begin_of(at + 2 * kHatch)));
    }
  }

  void paint_lane(Pixels& area, const LaneRow& row, const QRect& box) {
    const SpanLane& lane = scene_.store->lane(row.rank, row.lane);
    if (lane.empty()) return;
    const QRect inner = box.adjusted(0, 1, 0, box.height() > 4 ? -1 : 0);
    const int tracks = drawn_tracks(lane, inner.height());
    if (tracks == 0) return paint_track(area, row, lane.joined(), inner);
    for (int track = 0; track < tracks; ++track)
      paint_track(area, row, *lane.tracks()[static_cast<std::size_t>(track)],
                  track_rect(inner, tracks, track));
  }

  void paint_track(Pixels& area, const LaneRow& row, const SpanTrack& track, const QRect& box) {
    const bool merged = cut_into_pieces(track, scene_.held->end(track), columns_, pieces_);
    picture_.merged = picture_.merged || merged;
    const int top = pixels(box.top()), bottom = std::max(top + 1, pixels(box.top() + box.height()));
    for (const SpanPiece& piece : pieces_) {
      const OpSpan& span = track[piece.first];
      if (piece.spans > 1) {
        paint_column(area, piece.left, piece.times, top, bottom, span.kind);
      } else {
        picture_.merged = picture_.merged || span.ops > 1;
        paint_single(area, piece, span, top, bottom);
        if (piece.right - piece.left > kLabeled) label(row, piece, span, box);
      }
    }
  }

  // Paints one span. Two kinds of spans are painted like merged spans: spans narrower than one
  // column of pixels, and long waits whose transfer lies within the last column.
  void paint_single(Pixels& area, const SpanPiece& piece, const OpSpan& span, int top, int bottom) {
    const auto kind = static_cast<std::size_t>(span.kind);
    SpanTimes times;
    times.add(span, span.end);
    if (piece.right - piece.left < 3 &&
        columns_.position(span.end) - columns_.position(span.begin) < 1)
      return paint_column(area, piece.left, times, top, bottom, span.kind);
    const int ready = span.ready == span.begin
                          ? piece.left
                          : std::clamp(columns_.of(span.ready), piece.left, piece.right);
    const int done =
        span.held == 0 ? piece.right : std::clamp(columns_.of(span.done()), ready, piece.right);
    area.hatch(piece.left, ready, top, bottom, waiting_);
    area.fill(ready, done, top, bottom, kinds_[kind]);
    area.hatch(done, piece.right, top, bottom, held_);
    if (ready == piece.right && span.end > span.ready && span.end < scene_.view.end) {
      const int head = bottom - column_rows(times.of(span.kind), top, bottom);
      area.fill(piece.right - 1, piece.right, head, bottom, kinds_[kind]);
    }
    if (piece.right - piece.left >= kEdgedSpan && span.begin >= scene_.view.begin)
      area.fill(piece.left, piece.left + 1, top, bottom, edges_[kind]);
  }

  // Returns the height of the bar that shows a duration in a one-pixel column. The full height
  // represents the time span of the column.
  int column_rows(Nanoseconds time, int top, int bottom) const {
    return static_cast<int>(std::ceil(
        (bottom - top) * std::min(static_cast<double>(time) * columns_.per_nanosecond(), 1.0) -
        1e-9));
  }

  void paint_column(Pixels& area, int at, const SpanTimes& times, int top, int bottom,
                    SpanKind first) {
    area.fill(at, at + 1, top, bottom, pale_[static_cast<std::size_t>(first)]);
    int foot = bottom;
    for (std::size_t kind = 0; kind < kSpanKinds; ++kind) {
      if (times.busy[kind] == 0) continue;
      const int head = std::max(top, foot - column_rows(times.busy[kind], top, bottom));
      area.fill(at, at + 1, head, foot, kinds_[kind]);
      foot = head;
    }
    for (const auto& [time, hatching] :
         {std::pair(times.held, held_), std::pair(times.waiting, waiting_)}) {
      const int head = std::max(top, foot - column_rows(time, top, bottom));
      area.hatch(at, at + 1, head, foot, hatching);
      foot = head;
    }
  }

  // Writes the label of a span into its longest part: the time in which it waits, is active, or is
  // held back (slowed or paced).
  void label(const LaneRow& row, const SpanPiece& piece, const OpSpan& span, const QRect& box) {
    if (box.height() < metrics_.ascent()) return;
    struct LabelSegment {
      int left, right;
      QColor ground;
    };
    const int ready = std::clamp(columns_.of(span.ready), piece.left, piece.right),
              done = std::clamp(columns_.of(span.done()), ready, piece.right);
    const LabelSegment parts[] = {{ready, done, colors_.of(span.kind)},
                                  {piece.left, ready, QColor(waiting_.ground)},
                                  {done, piece.right, QColor(held_.ground)}};
    const LabelSegment& in = *std::ranges::max_element(
        parts, {}, [](const LabelSegment& part) { return part.right - part.left; });
    const QString text = title_of(scene_.store->names(row.rank), row.lane, span) +
                         (span.ops > 1 ? QString(" +%1").arg(span.ops - 1) : "");
    const QRect room(qRound(in.left / scene_.pixel_ratio) + 3, box.top(),
                     qRound((in.right - in.left) / scene_.pixel_ratio) - 5, box.height());
    if (room.width() < kLabeled || metrics_.horizontalAdvance(text) > room.width()) return;
    picture_.labels.push_back({room.translated(scene_.body.topLeft()), text, text_on(in.ground)});
  }

  const TimelineScene& scene_;
  const TimelineColors& colors_;
  Columns columns_;
  QFontMetrics metrics_;
  SpansPicture picture_;
  std::vector<SpanPiece> pieces_;
  std::array<QRgb, kSpanKinds> kinds_{}, pale_{}, edges_{};
  Hatching waiting_, held_;
};

}  // namespace

QRectF TimelineScene::span_rect(const SpanAddress& place, const OpSpan& span) const {
  const int at = rows->row_of(place.rank, place.lane);
  if (at < 0) return {};
  const QRect row = row_rect(rows->rows()[static_cast<std::size_t>(at)]);
  const QRect inner = row.adjusted(0, 1, 0, row.height() > 4 ? -1 : 0);
  const int tracks = drawn_tracks(store->lane(place.rank, place.lane), inner.height());
  const QRect box = place.track < 0 || tracks == 0 ? inner : track_rect(inner, tracks, place.track);
  TimeRange range{span.begin, span.end};
  if (const SpanTrack* track = track_at(*store, place);
      track && store->names(place.rank).is_bucket_lane(place.lane))
    range = bucket_at(*store, place.rank, *track, place.number).range;
  const double begin = std::clamp(columns().position(range.begin), -10.0, body.width() + 10.0),
               end = std::clamp(columns().position(range.end), -10.0, body.width() + 10.0);
  return QRectF(body.left() + begin, box.top(), std::max(end - begin, 2.0), box.height());
}

SpansPicture picture_of(const TimelineScene& scene, const TimelineColors& colors) {
  return SpanPainting(scene, colors).paint();
}

void paint_picture(QPainter& painter, const TimelineScene& scene, const SpansPicture& picture) {
  painter.drawImage(scene.body.topLeft(), picture.image);
  painter.save();
  painter.setClipRect(scene.body);
  painter.setFont(scene.font);
  for (const SpansPicture::Label& label : picture.labels) {
    painter.setPen(label.color);
    painter.drawText(label.box, Qt::AlignLeft | Qt::AlignVCenter, label.text);
  }
  painter.restore();
}

void paint_frame(QPainter& painter, const TimelineScene& scene, const QRectF& span,
                 const QColor& color, double width) {
  if (span.isEmpty()) return;
  painter.save();
  painter.setClipRect(scene.body);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(color, width));
  painter.drawRect(span.adjusted(-1, -1, 1, 1));
  painter.restore();
}

}  // namespace trainyard::ui
