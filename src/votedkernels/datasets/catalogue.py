"""Facts about the eleven data sets of the paper's experiments."""

from dataclasses import dataclass

_UCI = "https://archive.ics.uci.edu/static/public"
_CC_BY = "CC BY 4.0"


@dataclass(frozen=True)
class DataSet:
    """Facts about one data set.

    Parameters
    ----------
    name : str
        The name in this package, which is also the name of the file.

    title : str
        The title in the repository that publishes it.

    about : str
        What a row is, and how the data differ from the original.

    feature_names : tuple of str
        The names of the features, in order.

    target_names : tuple of str
        The names of the classes -1 and +1, in this order.

    n_negative, n_positive : int
        The number of rows of class -1 and of class +1.

    content_sha256 : str
        The hash of the values, computed by :func:`votedkernels.datasets.reading.content_hash`.

    licence : str
        The licence of the data.

    citation : str
        What to cite.

    address : str or None
        Where the original is published; None if it is not published.
    """

    name: str
    title: str
    about: str
    feature_names: tuple[str, ...]
    target_names: tuple[str, str]
    n_negative: int
    n_positive: int
    content_sha256: str
    licence: str
    citation: str
    address: str | None

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self.n_negative + self.n_positive

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.feature_names)

    def description(self) -> str:
        """Return all facts as text, for the ``DESCR`` of a Bunch.

        Returns
        -------
        str
        """
        negative, positive = self.target_names
        return (
            f"{self.title}\n\n{self.about}\n\n"
            f"{self.n_samples} rows, {self.n_features} features: "
            f"{self.n_positive} {positive} (+1), {self.n_negative} {negative} (-1). "
            "Nothing is imputed and nothing is scaled.\n\n"
            f"Licence: {self.licence}\nPlease cite: {self.citation}\n"
            f"Original: {self.address or 'not published at a permanent address'}\n"
        )


def _numbered(pattern: str, last: int) -> tuple[str, ...]:
    return tuple(pattern.format(i) for i in range(1, last + 1))


_ALL = (
    DataSet(
        name="breastcancer",
        title="Breast Cancer Wisconsin (Original)",
        about="Nine grades given to cells of breast fine-needle aspirates. The sample number is "
        "left out. In 16 of the 699 rows bare_nuclei is missing.",
        feature_names=(
            "clump_thickness",
            "uniformity_of_cell_size",
            "uniformity_of_cell_shape",
            "marginal_adhesion",
            "single_epithelial_cell_size",
            "bare_nuclei",
            "bland_chromatin",
            "normal_nucleoli",
            "mitoses",
        ),
        target_names=("benign", "malignant"),
        n_negative=458,
        n_positive=241,
        content_sha256="9999730c7b6f681dc69b909c0f529ba68e23379cbc0e823164921d466a8e01b1",
        licence=_CC_BY,
        citation="W. Wolberg (1990). Breast Cancer Wisconsin (Original). UCI Machine Learning "
        "Repository. https://doi.org/10.24432/C5HP4Z",
        address=f"{_UCI}/15/breast+cancer+wisconsin+original.zip",
    ),
    DataSet(
        name="climate",
        title="Climate Model Simulation Crashes",
        about="Eighteen scaled parameters of an ocean model, and whether the simulation ran to "
        "completion. The numbers of the study and of the run are left out.",
        feature_names=(
            "vconst_corr",
            "vconst_2",
            "vconst_3",
            "vconst_4",
            "vconst_5",
            "vconst_7",
            "ah_corr",
            "ah_bolus",
            "slm_corr",
            "efficiency_factor",
            "tidal_mix_max",
            "vertical_decay_scale",
            "convect_corr",
            "bckgrnd_vdc1",
            "bckgrnd_vdc_ban",
            "bckgrnd_vdc_eq",
            "bckgrnd_vdc_psim",
            "Prandtl",
        ),
        target_names=("failed", "succeeded"),
        n_negative=46,
        n_positive=494,
        content_sha256="fe8b108d01c3850275df399306868792dc592e66eb0ec2c940a7a7247470b8c0",
        licence=_CC_BY,
        citation="D. Lucas, R. Klein, J. Tannahill, D. Ivanova, S. Brandon, D. Domyancic, Y. Zhang "
        "(2013). Climate Model Simulation Crashes. UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5HG71",
        address=f"{_UCI}/252/climate+model+simulation+crashes.zip",
    ),
    DataSet(
        name="diabetes",
        title="Pima Indians Diabetes",
        about="Eight measurements of women of Pima heritage, and whether they showed signs of "
        "diabetes. The zeros that stand for missing values are kept as in the original.",
        feature_names=(
            "pregnancies",
            "plasma_glucose",
            "blood_pressure",
            "triceps_skin_thickness",
            "serum_insulin",
            "body_mass_index",
            "diabetes_pedigree",
            "age",
        ),
        target_names=("no diabetes", "diabetes"),
        n_negative=500,
        n_positive=268,
        content_sha256="29d85e171f94ce475958426fad431e32dcd70910bcb5a477b8c9972fa2b3c230",
        licence="not stated (withdrawn from UCI)",
        citation="J. Smith, J. Everhart, W. Dickson, W. Knowler, R. Johannes (1988). Using the "
        "ADAP learning algorithm to forecast the onset of diabetes mellitus. Proceedings of the "
        "Symposium on Computer Applications and Medical Care, 261-265",
        address="https://www.openml.org/data/v1/download/37/diabetes.arff",
    ),
    DataSet(
        name="german",
        title="Statlog (German Credit Data)",
        about="People who take out a loan, described by 24 attributes: the file "
        "german.data-numeric, in which the categories are coded as whole numbers.",
        feature_names=_numbered("a{}", 24),
        target_names=("good credit", "bad credit"),
        n_negative=700,
        n_positive=300,
        content_sha256="4909cffca9e96218f053b23f04a5061dc5299da85b71948279e8b7df332a110a",
        licence=_CC_BY,
        citation="H. Hofmann (1994). Statlog (German Credit Data). UCI Machine Learning "
        "Repository. https://doi.org/10.24432/C5NC77",
        address=f"{_UCI}/144/statlog+german+credit+data.zip",
    ),
    DataSet(
        name="ionosphere",
        title="Ionosphere",
        about="Radar returns from the ionosphere that do or do not show structure. The second "
        "feature is 0 in every row, as in the original.",
        feature_names=tuple(
            f"pulse_{i:02d}_{part}" for i in range(1, 18) for part in ("real", "imag")
        ),
        target_names=("bad", "good"),
        n_negative=126,
        n_positive=225,
        content_sha256="8008e5c53881cfaa3335ead61eb25f50e2ca6ba95561bd2011cce4cd98cfbd57",
        licence=_CC_BY,
        citation="V. Sigillito, S. Wing, L. Hutton, K. Baker (1989). Ionosphere. UCI Machine "
        "Learning Repository. https://doi.org/10.24432/C5W01B",
        address=f"{_UCI}/52/ionosphere.zip",
    ),
    DataSet(
        name="musk",
        title="Musk (Version 1)",
        about="Shapes of molecules that were judged to be musks or not, described by 166 "
        "distances. The names of the molecule and of its conformation are left out.",
        feature_names=_numbered("f{:03d}", 166),
        target_names=("non-musk", "musk"),
        n_negative=269,
        n_positive=207,
        content_sha256="c8c544ada98b2953109b61f5a838a7e181767935c0df30deab6ff356a8474e41",
        licence=_CC_BY,
        citation="D. Chapman, A. Jain (1994). Musk (Version 1). UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5ZK5B",
        address=f"{_UCI}/74/musk+version+1.zip",
    ),
    DataSet(
        name="ocr49",
        title="Handwritten digits 4 and 9",
        about="2000 images from MNIST, 14 by 14 pixels in four levels of grey (0 to 3), as used in "
        "Princeton's course COS 402: the mean of each 2 by 2 block of the 28 by 28 pixels, divided "
        "by 64 and rounded down. Which images were drawn is known only from the file itself.",
        feature_names=tuple(f"px_{x}_{y}" for y in range(1, 15) for x in range(1, 15)),
        target_names=("4", "9"),
        n_negative=1012,
        n_positive=988,
        content_sha256="3598a6d7f27fe0380a21f294d223ea27c8f36e3c0ee8e173781e86be058be3e3",
        licence="not stated (MNIST: CC BY-SA 3.0)",
        citation="Y. LeCun, C. Cortes (1998). The MNIST database of handwritten digits",
        address=None,
    ),
    DataSet(
        name="phishing",
        title="Phishing Websites",
        about="Thirty signs that tell a phishing site from a legitimate one: the first edition, "
        "file .old.arff, of 2456 sites. Its label is 1 for phishing; in the later edition, "
        "of 11055 sites, 1 means legitimate.",
        feature_names=(
            "having_IP_Address",
            "URL_Length",
            "Shortining_Service",
            "having_At_Symbol",
            "double_slash_redirecting",
            "Prefix_Suffix",
            "having_Sub_Domain",
            "SSLfinal_State",
            "Domain_registeration_length",
            "Favicon",
            "port",
            "HTTPS_token",
            "Request_URL",
            "URL_of_Anchor",
            "Links_in_tags",
            "SFH",
            "Submitting_to_email",
            "Abnormal_URL",
            "Redirect",
            "on_mouseover",
            "RightClick",
            "popUpWidnow",
            "Iframe",
            "age_of_domain",
            "DNSRecord",
            "web_traffic",
            "Page_Rank",
            "Google_Index",
            "Links_pointing_to_page",
            "Statistical_report",
        ),
        target_names=("legitimate", "phishing"),
        n_negative=1362,
        n_positive=1094,
        content_sha256="cb66e7b95127f264fd08c562fad88c4cbc939a6260a97a29cef4575482bbc3d7",
        licence=_CC_BY,
        citation="R. Mohammad, L. McCluskey (2012). Phishing Websites. UCI Machine Learning "
        "Repository. https://doi.org/10.24432/C51W2X",
        address=f"{_UCI}/327/phishing+websites.zip",
    ),
    DataSet(
        name="retinopathy",
        title="Diabetic Retinopathy Debrecen",
        about="Features extracted from images of the retina (Messidor), and whether there are "
        "signs of diabetic retinopathy.",
        feature_names=(
            "quality",
            "pre_screening",
            *(f"ma_{tenths / 10}" for tenths in range(5, 11)),
            *_numbered("exudates_{}", 8),
            "macula_opticdisc_distance",
            "opticdisc_diameter",
            "am_fm_classification",
        ),
        target_names=("no signs", "signs"),
        n_negative=540,
        n_positive=611,
        content_sha256="4e832d4f4f79725420f1dcdb1a034f936d2344580b3392870f34af282d54e6d9",
        licence=_CC_BY,
        citation="B. Antal, A. Hajdu (2014). Diabetic Retinopathy Debrecen. UCI Machine Learning "
        "Repository. https://doi.org/10.24432/C5XP4P",
        address=f"{_UCI}/329/diabetic+retinopathy+debrecen.zip",
    ),
    DataSet(
        name="vertebral",
        title="Vertebral Column",
        about="Six biomechanical measurements of patients, in two classes (column_2C) and at full "
        "precision: column_2C.dat, unlike the .arff file, rounds to two decimals.",
        feature_names=(
            "pelvic_incidence",
            "pelvic_tilt",
            "lumbar_lordosis_angle",
            "sacral_slope",
            "pelvic_radius",
            "degree_spondylolisthesis",
        ),
        target_names=("normal", "abnormal"),
        n_negative=100,
        n_positive=210,
        content_sha256="85cb71b3afbd11fcbec20dae5df803f436f77d5ae29699279b6b066f34c6f89e",
        licence=_CC_BY,
        citation="G. Barreto, A. Neto (2005). Vertebral Column. UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5K89B",
        address=f"{_UCI}/212/vertebral+column.zip",
    ),
    DataSet(
        name="waveform01",
        title="Waveform Database Generator (Version 1), classes 0 and 1",
        about="Noisy mixtures of two of three triangular waves at 21 positions. The 1696 rows of "
        "class 2 are left out. make_waveform draws from the same distribution.",
        feature_names=_numbered("x{:02d}", 21),
        target_names=("class 0", "class 1"),
        n_negative=1657,
        n_positive=1647,
        content_sha256="41cfc9cb89a6e841090d49e7dd5ef89f5db5157e037df9c580fae26e7525f741",
        licence=_CC_BY,
        citation="L. Breiman, C. Stone (1984). Waveform Database Generator (Version 1). UCI "
        "Machine Learning Repository. https://doi.org/10.24432/C5CS3C",
        address=f"{_UCI}/107/waveform+database+generator+version+1.zip",
    ),
)

CATALOGUE = {facts.name: facts for facts in _ALL}
"""The data sets by name."""
