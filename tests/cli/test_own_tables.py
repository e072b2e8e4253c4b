"""Tables as people have them: dates and decimal commas in text, columns to drop, rows called by their names."""

from __future__ import annotations

import datetime
import json
import re
import time

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import xcid
from xcid.errors import InvalidData, InvalidFile, InvalidParameter
from xcid.io import dates, readers, suspects, tables, training
from xcid.io.conditions import rows_where
from xcid.io.readers import Background
from xcid.io.rows import Rows
from xcid.io.sources import Roles

QUICK = ("--target", "y", "--train", "logistic")
DAYS = pd.Series(pd.Timestamp("2022-01-01") + pd.to_timedelta((np.arange(90) * 7) % 700, unit="D"))
FORMATS = {
    "iso": "%Y-%m-%d",
    "iso with a time": "%Y-%m-%d %H:%M:%S",
    "dots": "%d.%m.%Y",
    "day first": "%d/%m/%Y",
    "month first": "%m/%d/%Y",
    "dashes": "%d-%m-%Y",
}


def people(table, writing="dots"):
    """A table with the name of each row, and the day of its application in text."""
    return table.assign(who=[f"C{100 + at}" for at in range(len(table))], day=DAYS.dt.strftime(FORMATS[writing]))


@pytest.fixture
def save(tmp_path):
    def save(frame, name="people.csv", **more):
        frame.to_csv(tmp_path / name, index=False, **more)
        return tmp_path / name

    return save


def of_pieces(background, path=None):
    """All rows of a table as rows to explain come."""
    source = background.opened(path)
    return next(Rows(source, background.layout, range(source.n_rows)).chunks(source.n_rows)).frame


def lines_of(out):
    return [(line["row"], line["feature"], line["value"]) for line in json.loads(out)]


class TestDates:
    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    @pytest.mark.parametrize("writing", FORMATS)
    def test_a_model_that_is_trained_gets_dates_whole_and_in_pieces(self, save, table, monkeypatch, writing, backend):
        monkeypatch.setattr(tables, "library", lambda: backend)
        path = save(people(table, writing))
        found = Background.to_train(path, Roles("y", id="who"))
        assert found.notes == ("columns with dates are read as dates: day",)
        for frame in (found.features, of_pieces(found), of_pieces(found, path), found.like(path)):
            column = nw.from_native(frame, eager_only=True)["day"]
            assert column.to_numpy().astype("datetime64[us]").tolist() == DAYS.dt.to_pydatetime().tolist()

    def test_missing_cells_and_a_zone(self, save, table):
        zoned = DAYS.dt.strftime("%Y-%m-%dT12:00:00+02:00").where(DAYS.index % 3 > 0)
        path = save(table.assign(day=zoned))
        found = Background.to_train(path, Roles("y"))
        assert found.layout.columns["day"].zoned
        assert found.features["day"].isna().tolist() == (DAYS.index % 3 == 0).tolist()
        assert found.features["day"][1] == pd.Timestamp("2022-01-08 10:00", tz="UTC")
        naive = save(table.assign(day=DAYS.dt.strftime("%Y-%m-%d")), "naive.csv")
        with pytest.raises(InvalidData, match="which has no time zone, and the times of the reference data have one"):
            of_pieces(found, naive)

    @pytest.mark.parametrize("cell", ["31.02.2022", "soon", "2022-13-01", "1.2.22", "12:30", "7"])
    def test_one_cell_that_is_none_leaves_text(self, save, table, cell):
        frame = people(table)
        frame.loc[40, "day"] = cell
        found = Background.to_train(save(frame), Roles("y"))
        assert found.layout.columns["day"].kind == "level"
        assert found.notes == ()

    def test_a_model_from_a_file_gets_text_unless_asked(self, save, table):
        path = save(people(table))
        plain, asked = Background.read(path, Roles("y")), Background.read(path, Roles("y", dates=("day",)))
        assert plain.features["day"][1] == "08.01.2022"
        (said,) = plain.notes
        assert said.startswith(
            "column 'day' holds dates and is read as text with 90 levels, as a model file may expect: "
        )
        assert said.endswith("--dates day reads dates")
        assert asked.features["day"][1] == pd.Timestamp("2022-01-08")
        assert asked.notes == ()

    def test_a_model_that_learnt_text_still_works(self, command, save, table, tmp_path):
        import skops.io
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder

        frame = people(table, "iso")[["day", "level", "y"]].assign(level=table["level"].fillna("red"))
        model = make_pipeline(OneHotEncoder(), LogisticRegression(C=100)).fit(frame[["day", "level"]], frame["y"])
        skops.io.dump(model, tmp_path / "m.skops")
        files = (save(frame), "--target", "y", "--model", tmp_path / "m.skops")
        status, out, err = command("explain", *files, "--rows", "0:2", "--json")
        assert status == 0, err
        assert "--dates day reads dates" in err
        assert json.loads(out)[0]["shown"] == "2022-01-01"
        assert "status ok" not in err

    @pytest.mark.parametrize("writing", ["dots", "iso", "day first"])
    def test_conditions_compare_dates(self, save, table, writing):
        path = save(people(table, writing))
        frame = readers.read_with_dates(readers.open_source(path), {})
        due = np.flatnonzero(pd.Timestamp("2023-06-01") > DAYS).tolist()
        assert rows_where("day < '01.06.2023'", frame) == rows_where("day < '2023-06-01'", frame) == due
        assert rows_where("day in ['08.01.2022', '2022-01-15']", frame) == [1, 2]
        with pytest.raises(
            InvalidData, match="day holds dates, and '01/06/2023' is not clearly one: write it as 2023-"
        ):
            rows_where("day < '01/06/2023'", frame)

    def test_no_date_is_compared_by_its_letters(self, save, table):
        frame = people(table)
        frame.loc[40, "day"] = "soon"
        with pytest.raises(InvalidData, match=r"day holds text, and '01.06.2023' is a date: --dates day reads dates"):
            rows_where("day < '01.06.2023'", frame)
        assert rows_where("day == '08.01.2022'", frame) == [1]

    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    def test_conditions_compare_moments(self, backend):
        days = pl.Series([datetime.date(2020, 4, 20), datetime.date(2020, 4, 21), None])
        noon = days.cast(pl.Datetime).dt.offset_by("12h").dt.replace_time_zone("UTC")
        frame = pl.DataFrame({"day": days, "noon": noon.dt.convert_time_zone("Europe/Berlin")})
        table = {
            "pandas": lambda: frame.to_pandas(use_pyarrow_extension_array=True),
            "polars": lambda: frame,
            "pyarrow": frame.to_arrow,
        }[backend]()
        for text, due in {
            "day == '2020-04-20T12:00'": [],
            "day < '2020-04-20T12:00'": [0],
            "day == '2020-04-20'": [0],
            "day in ['2020-04-20', '2020-04-21T01:00']": [0],
            "noon == '2020-04-20T14:00+02:00'": [0],
            "noon == '2020-04-20T12:00'": [0],
            "noon > '2020-04-21'": [1],
            "noon not in ['2020-04-20T12:00Z']": [1],
        }.items():
            assert rows_where(text, table) == due, text

    def test_days_and_months_that_cannot_be_told_apart(self, save, table):
        unclear = [f"{1 + at % 12:02}/{1 + at % 11:02}/2022" for at in range(90)]
        path = save(table.assign(day=unclear))
        (said,) = Background.to_train(path, Roles("y")).notes
        assert "since its day and its month cannot be told apart: --dates day" in said
        asked = Background.to_train(path, Roles("y", dates=("day",)))
        (said,) = asked.notes
        assert said.startswith("dates of column 'day' are read with the day first: 31/12/2023; if the month is first")
        assert asked.features["day"][1] == pd.Timestamp("2022-02-02")
        assert asked.features["day"][11] == pd.Timestamp("2022-01-12")

    def test_rows_are_read_as_the_reference_data_where_they_leave_a_choice(self, save, table):
        reference = Background.to_train(save(people(table, "month first")), Roles("y", id="who"))
        few = people(table, "month first").iloc[:1].assign(day="02/03/2022")
        assert of_pieces(reference, save(few, "few.csv"))["day"].tolist() == [pd.Timestamp("2022-02-03")]
        clear = people(table, "day first")
        assert of_pieces(reference, save(clear, "clear.csv"))["day"].tolist() == DAYS.tolist()

    @pytest.mark.parametrize("cell", ["03/04/2022", "03-04-2022", "3/4/2022"])
    def test_dots_do_not_say_what_is_first_between_slashes(self, command, save, table, cell):
        files = ("--reference", save(people(table, "dots")), *QUICK, "--id", "who", "--rows", "0", "--data")
        few = people(table).iloc[:1]
        status, _, err = command("explain", *files, save(few.assign(day=cell), "few.csv"))
        assert status == 2
        assert f"holds '{cell}' in row 0 (line 2), column 'day', which may be 2022-03-04 or 2022-04-03, and no" in err
        assert "no cell of the column settles it: write it as 2023-12-31, or add --dates day to read the day fi" in err
        assert command("explain", *files, save(few.assign(day="03.04.2022"), "few.csv"))[0] == 0

    def test_the_other_order_is_said(self, command, save, table):
        unclear = table.assign(day=[f"{1 + at % 12:02}/{1 + at % 11:02}/2022" for at in range(90)])
        files = ("--reference", save(unclear), "--dates", "day", *QUICK, "--rows", "0", "--data")
        few = unclear.iloc[:1]
        _, _, err = command("explain", *files, save(few.assign(day="03/24/2022"), "few.csv"))
        assert "dates of column 'day' are read as 12/31/2023 in few.csv, and as 31/12/2023 in the reference data" in err
        assert "in few.csv" not in command("explain", *files, save(few.assign(day="24/03/2022"), "few.csv"))[2]

    @pytest.mark.parametrize("writing", ["iso", "dots"])
    def test_the_day_is_first_where_rows_leave_it_open_and_it_was_asked_for(self, command, save, table, writing):
        files = ("--reference", save(people(table, writing)), *QUICK, "--id", "who", "--rows", "0")
        few = people(table).iloc[:1]
        clear = command("explain", *files, "--data", save(few.assign(day="2022-04-03"), "few.csv"), "--json")
        path = save(few.assign(day="03/04/2022"), "few.csv")
        _, out, err = command("explain", *files, "--data", path, "--dates", "day", "--json")
        assert lines_of(out) == lines_of(clear[1])
        assert "dates of column 'day' are read with the day first: 31/12/2023; if the month is first, write" in err

    def test_asking_does_not_turn_round_what_the_reference_data_tell(self, save, table):
        reference = Background.to_train(save(people(table, "month first")), Roles("y", id="who", dates=("day",)))
        few = people(table).iloc[:1]
        assert of_pieces(reference, save(few.assign(day="02/03/2022"), "few.csv"))["day"][0].month == 2
        with pytest.raises(InvalidData, match="may be 2022-02-03 or 2022-03-02, and no cell of the column settles it"):
            of_pieces(reference, save(few.assign(day="02-03-2022"), "few.csv"))

    def test_a_column_of_two_writings_is_text(self, save, table):
        mixed = people(table).assign(day=["24.03.2022", "03/04/2022"] * 45)
        assert Background.to_train(save(mixed), Roles("y", id="who")).layout.columns["day"].kind == "level"

    def test_asked_for_and_none(self, command, save, table):
        frame = people(table)
        frame.loc[40, "day"] = "soon"
        status, _, err = command("explain", save(frame), *QUICK, "--dates", "day", "--rows", "0")
        assert status == 2
        assert "holds 'soon' in row 40 (line 42), column 'day', which is no date like the others" in err

    @pytest.mark.parametrize("writing", FORMATS)
    def test_the_same_scores_as_for_real_dates(self, command, save, table, tmp_path, writing):
        people(table).assign(day=DAYS).to_parquet(tmp_path / "people.parquet")
        files = save(people(table, writing)), tmp_path / "people.parquet"
        found = [command("explain", path, *QUICK, "--id", "who", "--rows", "0:4", "--json")[1] for path in files]
        assert found[0] == found[1]
        assert '"shown": "2022-01-08"' in found[0]

    def test_a_run_has_the_same_scores(self, command, save, table, tmp_path):
        files = (save(people(table)), *QUICK, "--id", "who", "--rows", "0:3", "--quiet")
        _, out, _ = command("explain", *files, "--json")
        for _ in range(2):  # the second time from the folder
            status, _, err = command("explain", *files, "--run", tmp_path / "run", "--out", tmp_path / "out.jsonl")
            assert status == 0, err
        lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        assert [(line["row"], line["feature"], line["value"]) for line in lines] == lines_of(out)

    def test_early_and_late_days(self):
        assert dates.readings("0001-01-01T00:00+14:00") == {}  # before the first year, in UTC
        assert dates.readings("9999-12-31")[dates.ISO].year == 9999


class TestDecimalCommas:
    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    def test_numbers_whole_and_in_pieces(self, save, table, monkeypatch, backend):
        monkeypatch.setattr(tables, "library", lambda: backend)
        frame = people(table).assign(n=range(90), codes="1,2,3")
        commas = save(frame, "commas.csv", sep=";", decimal=",")
        points = Background.to_train(save(frame, "points.csv"), Roles("y", id="who"))
        found = Background.to_train(commas, Roles("y", id="who"))
        assert found.notes[0] == "commas.csv has decimal commas, read as such in the columns first, second"
        for one in (found.features, of_pieces(found), of_pieces(points, commas)):
            for name in ("first", "second"):
                column = nw.from_native(one, eager_only=True)[name].cast(nw.Float64).fill_null(np.nan)
                assert np.array_equal(column.to_numpy(), frame[name].to_numpy(), equal_nan=True)
        assert found.layout.columns["codes"].levels == ("1,2,3",)

    def test_points_or_a_word_among_them(self, tmp_path):
        (tmp_path / "t.csv").write_text("a;b;c\n1,5;x;1.234,50\n2,5;y;2,5\n")
        with pytest.raises(InvalidFile, match=r"holds '1.234,50' in row 0 .line 2., column 'c', a number with a comma"):
            readers.read(tmp_path / "t.csv")
        with pytest.raises(InvalidFile, match=r"engine='python', decimal=',', thousands='.'\)"):
            readers.read(tmp_path / "t.csv")
        (tmp_path / "t.csv").write_text("a;b\n1,5;2\n" + "2,5;3\n" * 20 + "none;3\n")
        with pytest.warns(xcid.XcidWarning, match=r"column 'a' of .* is read as text: 21 of its 22 cells are numbers"):
            readers.read(tmp_path / "t.csv")

    def test_the_advice_keeps_dates(self, tmp_path):
        (tmp_path / "t.csv").write_text("day;amount\n22.03.2019;9.800,00\n27.11.2020;5.500,50\n")
        with pytest.raises(InvalidFile) as refused:
            readers.read(tmp_path / "t.csv")
        (how,) = re.findall(r"as (pandas.*) does", str(refused.value))
        eval(how, {"pandas": pd, "OLD": tmp_path / "t.csv", "NEW": tmp_path / "new.csv"})
        assert (tmp_path / "new.csv").read_text() == "day,amount\n22.03.2019,9800.0\n27.11.2020,5500.5\n"


class TestThousands:
    """A point before exactly three digits may part thousands: where other numbers have decimal commas, ask."""

    @pytest.fixture
    def write(self, tmp_path):
        def write(amounts, name="t.csv", rates=("3,18", "4,17"), separator=";"):
            rows = [[f"{at}.000", amount, rates[at % 2], "pq"[at % 2]] for at, amount in enumerate(amounts, start=1)]
            lines = [separator.join(cells) for cells in [["who", "amount", "rate", "y"], *rows]]
            (tmp_path / name).write_text("\n".join(lines) + "\n")
            return tmp_path / name

        return write

    @pytest.mark.parametrize(
        "amounts",
        [["9.800", "500", ""], ["-21.200", "7.000"], ["1.234.567", "800.000"], ["7.250"] * 400, [".500", "9.800"]],
    )
    def test_they_are_refused_in_reference_data(self, write, amounts):
        for read in (Background.read, Background.to_train):
            with pytest.raises(
                InvalidFile, match=r"column 'amount' of .* and other numbers have decimal commas: if that"
            ):
                read(write(amounts), Roles("y", id="who"))
            read(write(amounts), Roles("y", drop=("amount", "who")))

    @pytest.mark.parametrize("rates", [("3,18", "4,17"), ("3", "4")])
    def test_and_in_rows(self, write, rates, approved):
        reference = Background.read(write(["9800,0", "5500,0"]), Roles("y", id="who"))
        rows = write(["21.200", "500"], "rows.csv", rates)
        for read in (reference.opened, reference.like):
            with pytest.raises(InvalidFile) as refused:
                read(rows)
        approved(str(refused.value).replace(str(rows), rows.name))
        reference.opened(write(["21200", "500"], "rows.csv", rates))

    def test_commas_beside_decimal_points(self, write, approved):
        path = write(["21,200", "9,800"], rates=("3.18", "4.17"))
        with pytest.raises(InvalidFile) as refused:
            Background.read(path, Roles("y", id="who"))
        approved(str(refused.value).replace(str(path), path.name))

    @pytest.mark.parametrize(
        ("amounts", "rates", "separator"),
        [
            (["1.234", "2.345"], ("3.18", "4.17"), ";"),  # points everywhere
            (["1.234", "2.345"], ("3", "4"), ";"),
            (["1.234", "2.345"], ("3.18", "4.17"), ","),
            (["1.234", "0.125"], ("3,18", "4,17"), ";"),  # no thousands begin with 0
            ([".234", "-.125"], ("3,18", "4,17"), ";"),
            (["1.234", "2.5"], ("3,18", "4,17"), ";"),
            (["1.234", "1234.567"], ("3,18", "4,17"), ";"),
            (["1.234"] * 400 + ["2.5"], ("3,18", "4,17"), ";"),
            (["1,234", "2,345"], ("3,18", "4,17"), ";"),
            (["1,234", "2,345"], ("3", "4"), ";"),
        ],
    )
    def test_decimals_are_read(self, write, amounts, rates, separator):
        path = write(amounts, rates=rates, separator=separator)
        found = Background.read(path, Roles("y", id="who"))
        wanted = [float(amount.replace(",", ".")) for amount in amounts]
        assert tables.columns(found.features, path)["amount"].tolist() == wanted
        assert of_pieces(found, path)["amount"].tolist() == wanted

    def test_codes_among_words_stay_text(self, write):
        found = Background.read(write(["1.234", "none", "red", "blue"]), Roles("y", id="who"))
        assert found.layout.columns["amount"].kind == "level"
        found.opened(write(["1.234", "2.345"], "rows.csv"))


class TestLeftOut:
    @pytest.mark.parametrize("verb", ["explain", "report", "compare"])
    def test_columns(self, command, save, table, tmp_path, verb):
        out = {"explain": "out.csv", "report": "out.html", "compare": "out"}[verb]
        more = ("--methods", "xcid,chance") if verb == "compare" else ()
        files = ("--reference", save(people(table)), "--data", save(people(table).drop(columns="level"), "rows.csv"))
        options = (*files, *QUICK, *more, "--id", "who", "--rows", "0:3", "--out", tmp_path / out)
        assert command(verb, *options)[0] == 2
        status, _, err = command(verb, *options, "--drop", "level,day")
        assert status == 0, err
        assert "left out of the features: level, day\n" in err
        if verb == "explain":
            assert set(pd.read_csv(tmp_path / out)["feature"]) == {"first", "second"}

    @pytest.mark.parametrize(("more", "said"), [
        (("--drop", "levle"), "there is no column 'levle' (did you mean 'level'?)"),
        (("--dates", "days"), "there is no column 'days' (did you mean 'day'?)"),
        (("--drop", "y"), "y is the target: leave it out of --drop"),
        (("--id", "who", "--dates", "day,who"), "who is the id: leave it out of --dates"),
        (("--drop", "day", "--dates", "day"), "day is in both --drop and --dates: leave it out of one of them"),
    ])  # fmt: skip
    def test_columns_that_cannot_be(self, command, save, table, more, said):
        status, _, err = command("explain", save(people(table)), *QUICK, "--rows", "0", *more)
        assert status == 2
        assert said in err

    def test_a_column_without_values(self, command, save, table, tmp_path):
        path = save(table.assign(empty=None))
        status, out, err = command("explain", path, *QUICK, "--rows", "0", "--json")
        assert status == 0, err
        assert "columns without any value are left out: empty\n" in err
        assert {feature for _, feature, _ in lines_of(out)} == {"first", "second", "level"}
        with pytest.raises(InvalidData, match=r"column 'empty' of .* is missing in all 90 rows: .* --drop empty"):
            Background.read(path, Roles("y"))

    def test_a_column_without_values_that_is_to_be_dates(self, command, save, table):
        path = save(people(table).assign(empty=None))
        status, out, err = command("explain", path, *QUICK, "--id", "who", "--dates", "empty", "--rows", "0", "--json")
        assert status == 0, err
        assert {feature for _, feature, _ in lines_of(out)} == {"first", "second", "level", "day"}

    def test_dates_of_rows_without_a_target_alone(self, command, save, table):
        day = pd.Series([None, "2023-01-05", *[None] * 88], dtype=object)
        path = save(table.assign(y=table["y"].astype(object).where(table.index != 1), day=day))
        status, _, err = command("explain", path, *QUICK, "--rows", "0", "--json")
        assert status == 0, err
        assert "columns without any value are left out: day\n" in err
        assert "read as dates" not in err

    def test_a_run_does_not_take_the_model_of_other_columns(self, command, save, table, tmp_path):
        files = (save(people(table)), *QUICK, "--id", "who", "--rows", "0", "--run", tmp_path / "run")
        for more in ((), ("--drop", "day")):
            command("explain", *files, *more, "--out", tmp_path / "out.csv")
        assert len(list((tmp_path / "run").glob("model-*.skops"))) == 2

    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    def test_classes_in_numbers_beside_rows_without_a_target(self, command, save, table, monkeypatch, backend):
        monkeypatch.setattr(tables, "library", lambda: backend)
        path = save(table.assign(y=table["y"].astype(object).where(table.index % 30 != 4)))
        status, _, err = command("whatif", path, *QUICK, "--wanted", "1", "--rows", "0:3")
        assert status == 0, err
        _, out, _ = command("explain", path, *QUICK, "--rows", "0")
        assert "0.0" not in out.splitlines()[0]
        assert "1.0" not in out.splitlines()[0]

    def test_numbers_that_are_no_classes_stay_what_they_are(self):
        for numbers in (np.arange(30.0), np.array([0.0, 0.5]), np.array([0.0, 1e300]), np.array([0.0, np.inf])):
            found = training.labels(nw.from_native(pd.Series(numbers), series_only=True))
            assert found.dtype == np.float64
            assert np.array_equal(found, numbers)

    @pytest.mark.parametrize("more", [("--drop", "first,second,level"), ()], ids=["dropped", "empty"])
    def test_no_feature_is_left(self, command, save, table, more):
        path = save(table if more else table.assign(first=None, second=None, level=None))
        status, _, err = command("explain", path, *QUICK, *more)
        assert status == 2
        assert err.endswith(
            f"no feature is left in {path}: a column is needed beside the target 'y' that has values and is not "
            "dropped\n"
        )

    @pytest.mark.parametrize("way", ["explain", "run", "compare"])
    def test_rows_without_a_target(self, command, save, table, tmp_path, way):
        path = save(people(table).assign(y=table["y"].astype(object).where(table.index % 30 != 4)))
        files = (path, *QUICK, "--id", "who", "--rows", "3:6")
        if way == "compare":
            status, out, err = command("compare", *files, "--methods", "xcid,chance")
            assert "; 2 other rows are held out" in out
        else:
            more = ("--run", tmp_path / "run") if way == "run" else ()
            status, _, err = command("explain", *files, *more, "--out", tmp_path / "out.csv")
            assert list(dict.fromkeys(pd.read_csv(tmp_path / "out.csv")["row"])) == ["C103", "C104", "C105"]
        assert status == 0, err
        said = "3 of 90 rows have no target 'y', and the model does not learn from them; the first is row 4 (line 6)\n"
        assert said in err

    def test_no_row_with_a_target_is_left_to_compare(self, command, save, table):
        path = save(table.assign(y=table["y"].astype(object).where(table.index != 4)))
        status, _, err = command("compare", path, *QUICK, "--methods", "xcid,chance", "--rows", "4")
        assert status == 2
        assert "none of the rows in --rows has a target 'y': choose others" in err


class TestNamesOfRows:
    @pytest.mark.parametrize(("typed", "rows"), [("C104", ["C104"]), ("C104, C101,C101", ["C101", "C104"])])
    def test_rows_called_by_their_names(self, command, save, table, typed, rows):
        status, out, err = command("explain", save(people(table)), *QUICK, "--id", "who", "--rows", typed, "--json")
        assert status == 0, err
        assert list(dict.fromkeys(row for row, *_ in lines_of(out))) == rows

    def test_numbers_are_positions_whatever_rows_are_called(self, command, save, table):
        path = save(people(table).assign(who=range(1, 91)))
        _, out, _ = command("explain", path, *QUICK, "--id", "who", "--rows", "5,89", "--json")
        assert {row for row, *_ in lines_of(out)} == {"6", "90"}
        status, _, err = command("explain", path, *QUICK, "--id", "who", "--rows", "5,90")
        assert status == 2
        assert "positions go from 0 to 89; to find a number in the column of --id, type a condition such as" in err
        assert "such as 'who == 90'\n" in err
        path = save(people(table).drop(columns="who").assign(**{"no.": range(1, 91)}))
        _, _, err = command("explain", path, *QUICK, "--id", "no.", "--rows", "90")
        assert "such as '`no.` == 90'\n" in err
        assert command("explain", path, *QUICK, "--id", "no.", "--rows", "`no.` == 90")[0] == 0

    def test_numbers_that_begin_with_zeros_are_names(self, command, save, table):
        path = save(people(table).assign(who=[f"{at:03}" for at in range(1, 91)]))
        _, out, err = command("explain", path, *QUICK, "--id", "who", "--rows", "007,090", "--json")
        assert {row for row, *_ in lines_of(out)} == {"007", "090"}, err
        assert command("explain", path, *QUICK, "--id", "who", "--rows", "0:010")[0] == 0
        status, _, err = command("explain", path, *QUICK, "--rows", "007")
        assert (status, "name the column of these with --id" in err) == (2, True)

    @pytest.mark.parametrize(("text", "said"), [
        ("no == 7", "; put the whole name in `: `no.`"),
        ("`no.` == '007'", "no. holds numbers and '007' is text: write 7, without quotes"),
        ("`no.` == 'x'", "no. holds numbers and 'x' is text"),
    ])  # fmt: skip
    def test_names_that_need_backticks(self, text, said):
        with pytest.raises(InvalidData) as refused:
            rows_where(text, pd.DataFrame({"no.": [6, 7]}))
        assert str(refused.value).endswith(said)

    def test_long_lists_of_names_are_read_at_once(self, command, save, table):
        begun = time.process_time()
        _, _, err = command("explain", save(people(table)), *QUICK, "--rows", ",".join("a" * 60) + " >")
        assert "does not select rows" in err
        assert time.process_time() - begun < 10

    def test_a_name_that_is_not_there(self, command, save, table):
        _, _, err = command("explain", save(people(table)), *QUICK, "--id", "who", "--rows", "C1O4")
        assert "--rows 'C1O4' is the name of none of the 90 rows (did you mean 'C1" in err

    def test_names_without_a_column_of_them(self, command, save, table):
        status, _, err = command("explain", save(people(table)), *QUICK, "--rows", "C104")
        assert status == 2
        assert "name the column of these with --id" in err

    def test_one_sign_too_few(self, command, save, table):
        _, _, err = command("explain", save(people(table)), *QUICK, "--rows", "first = 3")
        assert "'first = 3' does not select rows: did you mean first == 3?\n" in err

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("a > 'x'", "a holds numbers and 'x' is text"),
            ("'x' == a", "a holds numbers and 'x' is text"),
            ("b < 5", "b holds text and 5 is a number"),
            ("a in ['x', 'y']", "a holds numbers and 'x' is text"),
            ("a == b", "a holds numbers and b holds text"),
        ],
    )
    def test_kinds_that_cannot_be_compared(self, text, said):
        with pytest.raises(InvalidData, match=said):
            rows_where(text, pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))


class TestSuspects:
    def test_dates_and_what_is_mostly_missing_name_no_rows(self):
        texts = DAYS.dt.strftime("%d.%m.%Y")
        frame = pd.DataFrame({"day": texts, "last": texts.where(DAYS.index % 5 == 0), "y": ["p", "q", "q"] * 30})
        frame["rare"] = pd.Series([f"code {at}" for at in range(90)]).where(DAYS.index % 5 == 0)
        assert list(suspects.notes(frame, "y")) == []

    def test_rows_that_are_named_already(self):
        frame = pd.DataFrame({"account": [f"A{at}" for at in range(90)], "y": ["p", "q", "q"] * 30})
        (said,) = suspects.notes(frame, "y", "who")
        assert said.endswith("--drop account keeps it out of the features")

    def test_many_rare_levels(self):
        rare = [f"P{at % 70}" for at in range(120)]
        frame = pd.DataFrame(
            {"postcode": rare, "town": [f"T{at % 20}" for at in range(120)], "y": ["p", "q", "q"] * 40}
        )
        (said,) = suspects.notes(frame, "y")
        assert said == (
            "column 'postcode' has 70 levels, most of them rare: that is slow, and hardly learnable; "
            "--drop postcode, or group its levels"
        )


def test_a_level_that_is_new_is_named_and_redacted(command, save, table, tmp_path):
    rows = people(table).iloc[:3].assign(level=["red", "mauve", "ochre"])
    files = ("--reference", save(people(table)), "--data", save(rows, "rows.csv"), *QUICK, "--id", "who")
    _, _, err = command("explain", *files)
    lack = "2 of 3 rows hold levels or missing cells that the reference data lack, the first of them"
    assert f"{lack} row C101 (line 3): level 'mauve'; the model decides whether it can take them\n" in err
    page = tmp_path / "page.html"
    status, _, err = command("report", *files, "--redact", "--out", page)
    assert status == 0, err
    assert "mauve" not in page.read_text(encoding="utf-8")
    assert f"{lack} row 1 (line 3): a value of level; the model decides" in err


class TestMessages:
    def test_a_class_that_is_spelt_otherwise(self):
        table = pd.DataFrame({"a": np.arange(40.0), "b": 1.0})
        explainer = xcid.Explainer(
            lambda X: np.column_stack([X["a"] < 20, X["a"] >= 20]).astype(float), table, class_names=["good", "bad"]
        )
        with pytest.raises(
            InvalidParameter, match=r"no class 'Bad' \(did you mean 'bad'\?\); its classes are \['good'"
        ):
            explainer(table[:2]).towards("Bad")

    def test_a_row_of_numbers_in_place_of_a_table(self):
        from sklearn.linear_model import LogisticRegression

        table = pd.DataFrame({"a": np.arange(900.0), "b": 1.0})
        model = LogisticRegression().fit(table, np.arange(900) > 400)
        with pytest.raises(xcid.errors.XcidError) as caught:
            xcid.Explainer(model, np.arange(900) > 400)
        assert len(str(caught.value)) < 400


def test_names_that_look_like_missing_cells(command, save, table):
    names = ["NA", "nan", "null", "N/A", *(f"r{row}" for row in range(len(table) - 4))]
    status, out, err = command(
        "explain", save(table.assign(who=names)), *QUICK, "--id", "who", "--rows", "0:4", "--json"
    )
    assert status == 0, err
    assert [*dict.fromkeys(line["row"] for line in json.loads(out))] == names[:4]
